! Arrays and strings of Fortran: sections with a stride, columns, bounds that are variables, pointers to nothing.
! It dies of SIGABRT in stop_here, which work calls: start_, work, stop_here_, abort.
! w = (1, 3, 5), back = (6, 5, 4), row = (3, 4), all = (7, 8, 9), cells(2,3) by columns: ((11, 21), (12, 22), (13, 23)).
module arrays
  implicit none
  type pair
    integer :: key
    real, allocatable :: list(:)
  end type
contains
  subroutine work(w, back, row, s, n, all, raw, cells)
    real, intent(in) :: w(:), back(:)
    integer, intent(in) :: row(:), n, all(n), cells(2,3)
    integer :: raw(*)
    character(len=*), intent(in) :: s
    character(len=5) :: t
    integer, allocatable :: a(:), none(:)
    integer, pointer :: p(:,:), q(:)
    integer, target :: held(4)
    type(pair) :: one
    external stop_here
    allocate(a(-1:1)); a = [70, 80, 90]
    allocate(one%list(2)); one%list = [0.5, 1.5]; one%key = 4
    held = [1, 2, 3, 4]; q => held(4:1:-3); nullify(p); t = 'ab'
    raw(1) = row(1) + n + all(1) + cells(1,1) + int(w(1) + back(1)) + len(s)
    call stop_here()
    if (allocated(none)) raw(1) = none(1)
  end subroutine
end module

subroutine start()
  use arrays
  implicit none
  real :: v(6) = [1., 2., 3., 4., 5., 6.]
  integer :: grid(2,3) = reshape([1, 2, 3, 4, 5, 6], [2, 3]), all(3) = [7, 8, 9], raw(2) = 0
  integer :: cells(2,3) = reshape([11, 21, 12, 22, 13, 23], [2, 3])
  call work(v(1:5:2), v(6:4:-1), grid(1:2,2), 'hello  ', 3, all, raw, cells)
end subroutine
