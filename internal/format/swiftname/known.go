package swiftname

// first has the types of the standard library that one letter names, second those of two.
func first(c byte) (kind, string) {
	switch c {
	case 'A':
		return kStruct, "AutoreleasingUnsafeMutablePointer"
	case 'a':
		return kStruct, "Array"
	case 'B':
		return kProtocol, "BinaryFloatingPoint"
	case 'b':
		return kStruct, "Bool"
	case 'D':
		return kStruct, "Dictionary"
	case 'd':
		return kStruct, "Double"
	case 'E':
		return kProtocol, "Encodable"
	case 'e':
		return kProtocol, "Decodable"
	case 'F':
		return kProtocol, "FloatingPoint"
	case 'f':
		return kStruct, "Float"
	case 'G':
		return kProtocol, "RandomNumberGenerator"
	case 'H':
		return kProtocol, "Hashable"
	case 'h':
		return kStruct, "Set"
	case 'I':
		return kStruct, "DefaultIndices"
	case 'i':
		return kStruct, "Int"
	case 'J':
		return kStruct, "Character"
	case 'j':
		return kProtocol, "Numeric"
	case 'K':
		return kProtocol, "BidirectionalCollection"
	case 'k':
		return kProtocol, "RandomAccessCollection"
	case 'L':
		return kProtocol, "Comparable"
	case 'l':
		return kProtocol, "Collection"
	case 'M':
		return kProtocol, "MutableCollection"
	case 'm':
		return kProtocol, "RangeReplaceableCollection"
	case 'N':
		return kStruct, "ClosedRange"
	case 'n':
		return kStruct, "Range"
	case 'O':
		return kStruct, "ObjectIdentifier"
	case 'P':
		return kStruct, "UnsafePointer"
	case 'p':
		return kStruct, "UnsafeMutablePointer"
	case 'Q':
		return kProtocol, "Equatable"
	case 'q':
		return kEnum, "Optional"
	case 'R':
		return kStruct, "UnsafeBufferPointer"
	case 'r':
		return kStruct, "UnsafeMutableBufferPointer"
	case 'S':
		return kStruct, "String"
	case 's':
		return kStruct, "Substring"
	case 'T':
		return kProtocol, "Sequence"
	case 't':
		return kProtocol, "IteratorProtocol"
	case 'U':
		return kProtocol, "UnsignedInteger"
	case 'u':
		return kStruct, "UInt"
	case 'V':
		return kStruct, "UnsafeRawPointer"
	case 'v':
		return kStruct, "UnsafeMutableRawPointer"
	case 'W':
		return kStruct, "UnsafeRawBufferPointer"
	case 'w':
		return kStruct, "UnsafeMutableRawBufferPointer"
	case 'X':
		return kProtocol, "RangeExpression"
	case 'x':
		return kProtocol, "Strideable"
	case 'Y':
		return kProtocol, "RawRepresentable"
	case 'y':
		return kProtocol, "StringProtocol"
	case 'Z':
		return kProtocol, "SignedInteger"
	case 'z':
		return kProtocol, "BinaryInteger"
	}
	return kNone, ""
}

func second(c byte) (kind, string) {
	switch c {
	case 'A':
		return kProtocol, "Actor"
	case 'C':
		return kStruct, "CheckedContinuation"
	case 'c':
		return kStruct, "UnsafeContinuation"
	case 'E':
		return kStruct, "CancellationError"
	case 'e':
		return kStruct, "UnownedSerialExecutor"
	case 'F':
		return kProtocol, "Executor"
	case 'f':
		return kProtocol, "SerialExecutor"
	case 'G':
		return kStruct, "TaskGroup"
	case 'g':
		return kStruct, "ThrowingTaskGroup"
	case 'h':
		return kProtocol, "TaskExecutor"
	case 'I':
		return kProtocol, "AsyncIteratorProtocol"
	case 'i':
		return kProtocol, "AsyncSequence"
	case 'J':
		return kStruct, "UnownedJob"
	case 'M':
		return kClass, "MainActor"
	case 'P':
		return kStruct, "TaskPriority"
	case 'S':
		return kStruct, "AsyncStream"
	case 's':
		return kStruct, "AsyncThrowingStream"
	case 'T':
		return kStruct, "Task"
	case 't':
		return kStruct, "UnsafeCurrentTask"
	}
	return kNone, ""
}
