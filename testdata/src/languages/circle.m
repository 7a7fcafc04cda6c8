/* Objective-C: a method that calls itself writes to null. Stack: -[Circle crashAt:total:] twice, -[Shape(Extra) visit:], main. */
#include <objc/runtime.h>
#include <objc/Object.h>

typedef struct { double x, y; } Point;

@protocol Priced
- (int) price;
@end

@interface Shape : Object { int ident; const char *name; id owner; SEL action; }
+ (id) make: (int) n named: (const char *) s;
- (double) area;
@end

@interface Circle : Shape <Priced> { double radius; Point centre; BOOL filled; }
- (int) crashAt: (int) depth total: (int *) total;
@end

static int calls;

@implementation Shape
+ (id) make: (int) n named: (const char *) s
{
	Shape *o = class_createInstance(self, 0);
	o->ident = n;
	o->name = s;
	o->action = @selector(area);
	return o;
}
- (double) area { return 0; }
@end

@implementation Circle
- (double) area { return radius * radius * 3; }
- (int) price { return 5; }
- (int) crashAt: (int) depth total: (int *) total
{
	Shape *shape = self, *none = nil;
	id<Priced> priced = self;
	int *p = (int *) none;

	radius = 1.5;
	centre.x = 1;
	filled = YES;
	calls++;
	if (depth > 0) {
		*total += 1;
		return [self crashAt: depth - 1 total: total] + 1;
	}
	*p = [shape area] + [priced price];
	return *p;
}
@end

@interface Shape (Extra)
- (void) visit: (int) n;
@end

@implementation Shape (Extra)
- (void) visit: (int) n
{
	int total = n;

	[(Circle *) self crashAt: 1 total: &total];
}
@end

int main(void)
{
	[[Circle make: 7 named: "round"] visit: 3];
	return 0;
}
