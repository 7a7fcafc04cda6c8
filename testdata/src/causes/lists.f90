! Dies of a null pointer, or of what is not allocated, in a way that its argument names.
program lists
  implicit none
  type node
     integer :: value
     real :: w(4)
     integer :: low(-2:1)
     type(node), pointer :: next => null()
  end type
  type tree
     type(node), pointer :: root => null()
     type(node) :: own
     integer, allocatable :: ids(:)
     integer, pointer :: one => null()
  end type
  type(node), target :: a
  type(node), pointer :: p
  type(tree), target :: t
  type(tree), pointer :: pt
  integer :: s
  character(len=4) :: way
  call get_command_argument(1, way)
  s = 0
  p => a
  pt => t
  select case (way)
  case ('w'); call walk(p, s)
  case ('r'); call intree(t)
  case ('d'); call deeper(pt)
  case ('l'); call lower(pt)
  case ('i'); call ids(t, 3)
  case ('o'); call one(t)
  end select
  print *, s
contains
  subroutine walk(n, total)
    type(node), pointer, intent(in) :: n
    integer, intent(inout) :: total
    total = n%next%value + total
  end subroutine
  subroutine intree(t)
    type(tree), intent(inout) :: t
    t%root%value = 5
  end subroutine
  subroutine deeper(t)
    type(tree), pointer, intent(in) :: t
    t%own%next%w(2) = 1.0
  end subroutine
  subroutine lower(t)
    type(tree), pointer, intent(in) :: t
    t%own%next%low(-1) = 1
  end subroutine
  subroutine ids(t, i)
    type(tree), intent(inout) :: t
    integer, intent(in) :: i
    t%ids(i) = 3
  end subroutine
  subroutine one(t)
    type(tree), intent(inout) :: t
    t%one = 3
  end subroutine
end program
