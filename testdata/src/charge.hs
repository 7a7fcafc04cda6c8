{-# LANGUAGE ForeignFunctionInterface #-}
-- Dies of SIGSEGV in C (charge_c.c), called so that other threads may run ("safe") or not ("unsafe"), also within a handler of
-- exceptions, and in C that Haskell was called from ("back"). Stack: die < charge 0 < charge 1 < charge 2 < handle1 < main1.
module Main where

import Control.Exception (SomeException, catch)
import Foreign.Ptr (FunPtr)
import System.Environment (getArgs)

foreign import ccall safe "die" dieSafe :: Int -> IO Int
foreign import ccall unsafe "die" dieUnsafe :: Int -> IO Int
foreign import ccall "wrapper" wrap :: (Int -> IO Int) -> IO (FunPtr (Int -> IO Int))
foreign import ccall safe "call_back" callBack :: FunPtr (Int -> IO Int) -> Int -> IO Int

charge :: Bool -> Int -> IO Int
charge True 0 = do { r <- dieSafe 0; return (r + 1) }
charge False 0 = do { r <- dieUnsafe 0; return (r + 1) }
charge safe n = do { r <- charge safe (n - 1); return (r + 1) }
{-# NOINLINE charge #-}

handle1 :: Bool -> Int -> IO Int
handle1 safe n = do { r <- charge safe n `catch` \e -> length (show (e :: SomeException)) `seq` return 7; return (r * 2) }
{-# NOINLINE handle1 #-}

main :: IO ()
main = do
  args <- getArgs
  r <- case args of
    ["back"] -> do { f <- wrap (charge True); callBack f 2 }
    [how] -> handle1 (how == "safe") 2
    _ -> return 0
  print r
