! look never reads column: gcc, at -O2, leaves out all of the descriptor that the program would make of it.
module unread
   implicit none
contains
   subroutine look(column, backwards)
      real(8), intent(in) :: column(:)
      integer, intent(in) :: backwards(:)
      integer :: copy(3)
      copy = backwards
      if (copy(1) /= 6) print *, copy
      call abort()
   end subroutine
end module
program main
   use unread
   implicit none
   real(8) :: grid(2, 3) = reshape([real(8) :: 1, 2, 3, 4, 5, 6], [2, 3])
   integer :: list(6) = [1, 2, 3, 4, 5, 6]
   call look(grid(2, :), list(6:1:-2))
end program
