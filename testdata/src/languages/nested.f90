! What values of Fortran look like: kinds, COMMON, strings with lengths in registers, calls in calls.
module stock
  implicit none
contains
  subroutine count(n, text)
    integer, intent(in) :: n
    character(len=*), intent(in) :: text
    real(kind=16) :: quad
    complex(kind=8) :: turn
    integer :: shelf(2, 3), shared
    character(len=6) :: label
    character(len=n) :: sized
    integer, allocatable :: none(:), some(:)
    integer, target :: all(10)
    integer, pointer :: section(:)
    common /store/ shared, label
    quad = -1.5_16; turn = (1.0d0, -2.0d0)
    shelf = reshape([1, 2, 3, 4, 5, 6], [2, 3])
    shared = 42; label = "common"; sized = "hi"
    allocate(some(-1:1)); some = [4, 5, 6]
    all = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    section => all(9:1:-3)
    call inner(n + 1)
    print *, sized, quad, turn, shelf, shared, label, sized, some, section, text, allocated(none)
  contains
    subroutine inner(depth)
      integer, intent(in) :: depth
      shelf(1, 1) = depth
      call abort()
    end subroutine
  end subroutine
end module

program main
  use stock
  call count(command_argument_count() + 2, "some text") ! a number that no compiler knows
end program
