! Errors that gfortran's library reports. The argument says which.
module work
  implicit none
contains
  subroutine store(a, n)
    integer, intent(inout) :: a(:)
    integer, intent(in) :: n
    a(n) = 7
  end subroutine
  subroutine twice(n)
    integer, intent(in) :: n
    real, allocatable :: b(:)
    allocate (b(n))
    allocate (b(n))
  end subroutine
  subroutine much(n)
    integer(8), intent(in) :: n
    real, allocatable :: b(:)
    allocate (b(n))
    b(1) = 1
  end subroutine
  subroutine load(name)
    character(*), intent(in) :: name
    integer :: u
    open (newunit=u, file=name, status='old')
    close (u)
  end subroutine
  subroutine ends(way)
    character(*), intent(in) :: way
    if (way == 'stop') error stop 'the matrix is singular'
    if (way == 'code') error stop 3
    if (way == 'normal') stop 'done'
    if (way == 'abort') call abort
  end subroutine
end module
program main
  use work
  implicit none
  character(20) :: way
  integer :: a(5) = 0, n
  call get_command_argument(1, way)
  n = command_argument_count() + 5
  select case (way)
  case ('bounds')
    call store(a, n)
  case ('twice')
    call twice(n)
  case ('much')
    call much(2_8**60)
  case ('load')
    call load('/nonexistent')
  case default
    call ends(trim(way))
  end select
end program
