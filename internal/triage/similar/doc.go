// Package similar finds groups of stacks that are nearly the same, for crashes whose
// signatures differ and which are probably of one bug all the same: an inlined call
// that the debugging information does not tell, a tail call, another way to the same
// place.
//
// Two stacks are aligned as sequences of functions. The frames that match count by
// how near the top they are, as in ReBucket (Dang et al., ICSE 2012), and by how rare
// they are, as in TraceSim (Vasiliev et al., 2020). To find the groups worth aligning
// with, an index leads from the rare frames of a stack to the groups that have them.
package similar
