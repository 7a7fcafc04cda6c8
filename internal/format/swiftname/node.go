package swiftname

// kind says what a node is.
type kind uint8

const (
	kNone kind = iota

	// Names of declarations.
	kIdent
	kOperator
	kLocal   // name; index
	kPrivate // name, if any
	kRelated // name

	// What is no part by itself, and is taken from the stack by the operator that follows.
	kEmptyList
	kFirst
	kVariadic
	kLabels // identifiers, or kFirst where there is none
	kThrows
	kTypedThrows
	kAsync
	kSendable
	kFuncOther // other annotations of function types; text
	kSignature // requirements; counts
	kRequirement
	kPack      // a requirement that says that a parameter is a pack; type
	kValueParm // a requirement that says that a parameter is a value; type
	kAssocName // name, protocol if any
	kConformance
	kAnyConformance
	kConformanceRef
	kRetroactive
	kElement // name if any, type

	// Contexts.
	kModule
	kExtension // type
	kAnonymous // context

	// Types.
	kClass // context, name; so the next five
	kStruct
	kEnum
	kProtocol
	kAlias
	kOtherType
	kBound // nominal type, arguments
	kBuiltin
	kFixedArray // count, type
	kTuple      // elements
	kFuncType
	kSpecifier // text before a type
	kSuffixed  // text behind a type
	kMetatype  // type; text
	kMetatypeOfAny
	kParam // index, depth
	kMember
	kExistential // protocols; text is a class that is asked for, too
	kClassAnd    // protocols, superclass
	kConstrained // existential
	kGeneric     // signature, type
	kDynamicSelf
	kImplFunc
	kImplParam
	kImplResult
	kPackType
	kPackExpansion
	kPackElement
	kOpaque
	kSomeType // the opaque type that a function returns
	kBoxType
	kErrorType
	kInteger
	kSugarOptional
	kSugarArray
	kSugarDict

	// Entities.
	kFunc  // context, name, labels, type
	kVar   // context, name
	kSub   // subscript: context, labels
	kInit  // context, labels, type; text is its name
	kPlain // context; text is the name behind it
	kOf    // context; text is what is of it
	kIn    // context; text is what is in it
	kOnce  // context, names of variables; text before them
	kParameterDecl
	kAccessor // variable or subscript; text
	kStatic   // entity
	kOpaqueOf // entity

	// Whole symbols.
	kPrefix       // text, then the part
	kAttribute    // text before the whole
	kSpecialized  // a specialization
	kPartialApply // text
	kGlobal
	kWitness   // conformance, entity
	kWords     // parts, with text between them
	kJoined    // parts and, between them, the words of text, which are separated by "|"
	kSuffix    // what a compiler added behind the name
	kLastOfAll // no node
)

// node is a part of a name. Parts may belong to several others.
type node struct {
	kind  kind
	text  string
	index int
	depth int
	kids  []*node
	ints  []int
}

func (n *node) kid(i int) *node {
	if n == nil || i >= len(n.kids) {
		return nil
	}
	return n.kids[i]
}

func isName(k kind) bool { return k >= kIdent && k <= kRelated }

func isType(k kind) bool { return k >= kClass && k <= kSugarDict }

func isNominal(k kind) bool { return k >= kClass && k <= kOtherType }

func isEntity(k kind) bool { return isType(k) || k >= kFunc && k <= kOpaqueOf }

func isContext(k kind) bool {
	return isNominal(k) || k >= kModule && k <= kAnonymous || k >= kFunc && k <= kOpaqueOf || k == kBound
}

func isAttribute(k kind) bool { return k >= kAttribute && k <= kPartialApply }

func isRequirement(k kind) bool { return k >= kRequirement && k <= kValueParm }
