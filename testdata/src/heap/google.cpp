// google: what Google's tcmalloc has in its class Static, in two shapes, for the layouts that debugging information says. It dies.
#include <atomic>
#include <cstdint>
#include <cstdlib>

struct Sizes {
  static constexpr size_t kMultiPageSize = 512;
  uint8_t other[16];
  uint32_t class_to_size_[86];
};

template <class T> struct Allocator {
  void *arena;
  T *free_list_;
};

template <class T> struct Links {
  T *next, *prev;
  struct Elem { void *list_; };
};

namespace older {
struct Page { uint64_t number; };
struct Trace { long before; void *proxy; };
struct Span : Links<Span> {
  uint16_t allocated_, embed_count_;
  union {
    uint16_t freelist_;
    uint16_t reciprocal_;
  };
  uint8_t cache_size_;
  uint8_t location_ : 2;
  uint8_t sampled_ : 1;
  union {
    uint16_t cache_[4];
    Trace *sampled_stack_;
  };
  Page first_page_, num_pages_;
};
struct Leaf {
  uint8_t sizeclass[1 << 15];
  Span *span[1 << 15];
};
struct Map { Leaf *root_[1 << 20]; };
struct Pages { Map map_; };
struct Lists { void *list_; uint32_t length_; };
struct Thread {
  Lists list_[86];
  Thread *next_;
};
struct Static {
  static Pages pagemap_;
  static Sizes sizemap_;
  static Allocator<Span> span_allocator_;
  static Allocator<Thread> threadcache_allocator_;
  static int begin();
};
Pages Static::pagemap_;
Sizes Static::sizemap_;
Allocator<Span> Static::span_allocator_;
Allocator<Thread> Static::threadcache_allocator_;
int Static::begin() { return sizemap_.class_to_size_[1] + sizeof(Thread); }
}

namespace newer {
struct Sample { long before; struct { long stack, allocated_size; } sampled_stack; };
struct Base { void *list_, *more_[2]; };
struct Span : Base {
  struct { uint16_t embed_count_, freelist_; };
  std::atomic<uint16_t> allocated_;
  uint8_t cache_size_ : 4;
  uint8_t index_ : 4;
  uint64_t first_page_ : 35;
  uint32_t reserved_ : 5;
  uint8_t is_large_span_ : 1;
  uint8_t sampled_ : 1;
  struct Large { uint64_t num_pages; Sample *sampled_allocation; };
  struct List { uint16_t cache[8]; };
  uint64_t small_num_pages_ : 6;
  union {
    Large large_or_sampled_state_;
    List list_;
    struct { uint64_t bits[2]; } bitmap_;
  };
};
struct Packed { uintptr_t value; };
struct Leaf {
  uint16_t sizeclass[1 << 12];
  Packed span_and_sizeclass[1 << 12];
};
struct Node { Leaf *leafs[1 << 12]; };
struct Map { Node *root_[1 << 11]; long used; };
struct Pages { long first; Map map_; };
struct Static {
  static Pages pagemap_;
  static Sizes sizemap_;
  static Allocator<Span> span_allocator_;
  static int begin();
};
Pages Static::pagemap_;
Sizes Static::sizemap_;
Allocator<Span> Static::span_allocator_;
int Static::begin() { return sizemap_.class_to_size_[1] + sizeof(Span); }
}

int main() {
  if (older::Static::begin() + newer::Static::begin())
    abort();
}
