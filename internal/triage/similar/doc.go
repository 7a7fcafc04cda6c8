// Package similar finds groups whose stacks are nearly the same. Such crashes have different signatures but are
// probably the same bug: an inlined call that the debugging information does not record, a tail call, another
// path to the same place.
//
// Two stacks are aligned as sequences of functions. Matching frames count more the nearer they are to the top,
// as in ReBucket (Dang et al., ICSE 2012), and the rarer they are, as in TraceSim (Vasiliev et al., 2020). To
// find groups that are worth aligning, an index leads from the rare frames of a stack to the groups that have
// them.
package similar
