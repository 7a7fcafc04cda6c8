#include "shared.h"

int far(int n) {
	return spare(n) + 1;
}
