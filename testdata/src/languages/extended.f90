! A type that extends another one: the components of that are its own.
module parts
  implicit none
  type :: base
    integer :: id = 7
  end type
  type, extends(base) :: item
    real(8) :: weight = 2.5d0
    type(item), pointer :: next => null()
  end type
contains
  subroutine show(it)
    type(item) :: it
    call abort
    it%id = 0
  end subroutine
end module
program main
  use parts
  type(item), target :: one, two
  two%id = 42
  one%next => two
  call show(one)
end program
