// The same runtime under automatic reference counting: strong, weak and autoreleased values.
#import <Foundation/Foundation.h>

static int alive;
@interface Node : NSObject
@property(strong) Node *next;
@property(weak) Node *back;
@end
@implementation Node
- (instancetype)init {
    self = [super init];
    alive++;
    return self;
}
- (void)dealloc { alive--; }
@end

int main(void) {
    __weak Node *seen = nil;
    @autoreleasepool {
        Node *first = [Node new];
        first.next = [Node new];
        first.next.back = first;
        seen = first.next;
        NSMutableArray *kept = [NSMutableArray array];
        void (^keep)(Node *) = ^(Node *node) { [kept addObject:node]; };
        keep(first);
        if (alive != 2 || seen.back != first || kept.count != 1)
            return 1;
    }
    printf("%d alive, weak %s\n", alive, seen ? "held" : "gone");
    return alive || seen;
}
