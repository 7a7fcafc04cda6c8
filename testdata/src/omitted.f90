! Arrays that are passed by descriptors of which gcc, at -O2, leaves out what the called procedures do not read: bounds and the size of elements.
!
! matrix has 2 by 3 elements, whose bounds are in no descriptor. column has 3, 11 22 33: its bound is there, since the sum reads it.
module passed
   implicit none
   interface
      subroutine stop_here() bind(c, name='stop_here_')
      end subroutine
   end interface
contains
   subroutine corner(matrix, column, total)
      real(8), intent(in) :: matrix(:, :), column(:)
      real(8), intent(out) :: total
      integer :: i
      total = matrix(1, 1)
      do i = 1, size(column)
         total = total + column(i)
      end do
      call stop_here()
      total = total + 1
   end subroutine
end module

subroutine start()
   use passed
   real(8), save :: grid(4, 5) = reshape([(real(i, 8), i = 1, 20)], [4, 5])
   real(8), save :: row(2, 5) = reshape([real(8) :: 11, 0, 0, 0, 22, 0, 0, 0, 33, 0], [2, 5])
   real(8), save :: total
   integer :: i
   call corner(grid(::2, ::2), row(1, ::2), total)
end subroutine
