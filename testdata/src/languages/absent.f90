! some has optional arguments that nobody passes, and, at -O2, descriptors in pieces: of one is known that it points to nothing, of the other no bounds.
module absent
   implicit none
contains
   subroutine some(k, number, list, text, sized, given)
      integer, intent(in) :: k
      integer, optional, intent(in) :: number, given
      real(8), optional, intent(in) :: list(:), sized(k)
      character(len=*), optional, intent(in) :: text
      real(8), pointer :: nowhere(:)
      real(8), allocatable :: pieces(:)
      nullify(nowhere)
      allocate(pieces(k))
      pieces = k
      if (present(given)) pieces(1) = given
      if (present(number)) nowhere => pieces_of(number)
      if (pieces(1) < 0) nowhere(1) = sum(pieces)
      call abort()
      if (associated(nowhere)) print *, nowhere(1)
      print *, pieces
      if (present(list)) print *, list
      if (present(text)) print *, text
      if (present(sized)) print *, sized
   end subroutine
   function pieces_of(n) result(p)
      integer, intent(in) :: n
      real(8), pointer :: p(:)
      allocate(p(n))
   end function
end module
program main
   use absent
   implicit none
   call some(3, given=5)
end program
