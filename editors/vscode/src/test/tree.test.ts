import * as assert from 'node:assert';
import { test } from 'node:test';
import { Item, Memory, Report, maxItems, size, view } from '../tree';

// text writes items as lines, indented, when all of them are open.
function text(items: Item[], answers: Record<string, unknown> = {}, indent = ''): string {
  return items.map((i) => indent + [i.label, i.description].filter(Boolean).join(' | ') + '\n' + text(parts(i, answers), answers, indent + '  ')).join('');
}
const parts = (i: Item, answers: Record<string, unknown>) => (i.later ? i.later.make(answers[i.later.request]) : i.children ?? []);
const nothing: Memory = { schema: '', mapped: 0, areas: [], allocators: [], types: [] };

const report: Report = {
  schema: 'corewalk-report/1',
  crash: { signal: 'SIGSEGV', reason: 'write of 4 bytes at null', message: 'it failed\n', thread: 7, frame: 1, causes: [{ text: '*p where p = 0x0', confidence: 'certain' }] },
  threads: [
    { id: 7, name: 'main', crashed: true, frames: [{ index: 0, pc: '0x1', function: 'abort', module: '/lib/libc.so.6' }, { index: 1, pc: '0x2', function: 'stop', source: { file: '/src/vars.c', line: 12 } }] },
    { id: 8, name: '', crashed: false, frames: [] },
  ],
  tasks: [{ kind: 'goroutine', id: 5, state: 'waiting', wait: { kind: 'lock', reason: 'sync.Mutex.Lock', object: { address: '0x10', name: 'd.mu' } }, frames: [{ index: 0, pc: '0x3', function: 'main.f', source: { file: 'C:\\src\\f.go', line: 3 } }] }],
  deadlocks: [{ certainty: 'certain', tasks: [{ kind: 'goroutine', id: 5 }, { kind: 'thread', id: 8 }], objects: [{ address: '0x10', name: 'd.mu' }, { address: '0x20', type: 'pthread_mutex_t' }], places: [{ function: 'main.f', source: { file: '/f.go', line: 3 } }, {}] }],
  contended: [{ object: { address: '0x10', name: 'd.mu' }, waiters: [{ kind: 'goroutine', id: 5 }], holders: [{ kind: 'thread', id: 8 }] }],
  warnings: [],
};

test('a report', () => {
  assert.strictEqual(text(view(report), { summary: report, memory: nothing }), `SIGSEGV: write of 4 bytes at null | thread 7
  it failed
  *p where p = 0x0 | certain
  stop | vars.c:12
Threads
  thread 7 main [crashed] | stop vars.c:12
    abort | libc.so.6
    stop | vars.c:12
  thread 8
Waits
  deadlock | certain
    goroutine 5 | waits for d.mu main.f f.go:3
    thread 8 | waits for pthread_mutex_t 0x20
  d.mu: 1 wait | held by thread 8
    goroutine 5
  goroutine 5 | sync.Mutex.Lock d.mu f.go:3
    main.f | f.go:3
Memory
`);
});

test('what leads to a source', () => {
  const [cause, list] = view(report);
  const threads = parts(list, { summary: report });
  assert.deepStrictEqual(cause.children?.[2].open, { file: '/src/vars.c', line: 12 });
  assert.deepStrictEqual(threads[0].open, { file: '/src/vars.c', line: 12 });
  assert.strictEqual(threads[0].children?.[0].open, undefined);
});

test('a process that did not die, and many threads', () => {
  const threads = Array.from({ length: maxItems + 5 }, (_, id) => ({ id, name: '', crashed: false, frames: [] }));
  const summary = { schema: '', crash: null, threads, warnings: [] };
  const [cause, list, waits] = view(summary);
  assert.strictEqual(cause.description, 'nothing says that the process died');
  const lines = parts(list, { summary });
  assert.strictEqual(lines.length, maxItems + 1);
  assert.strictEqual(lines[maxItems].label, '5 more');
  assert.strictEqual(parts(waits, { summary })[0].label, 'none are known');
});

test('memory', () => {
  const m: Memory = {
    schema: '', mapped: 1 << 20, areas: [{ kind: 'code', mappings: 4, bytes: 5000 }], allocators: [{ name: 'glibc malloc', used: { count: 2, bytes: 64 }, free: { count: 1, bytes: 32 }, damages: ['a chunk of no size'] }],
    types: [{ name: 'Order', count: 3, bytes: 96 }, { size: 24, count: 1, bytes: 24 }], roots: [{ name: 'g_cache', count: 3, bytes: 96 }], unreached: { count: 1, bytes: 24 },
  };
  assert.strictEqual(text(parts(view(report)[3], { memory: m })), `Mappings | 1.0 MiB
  code | 4, 4.9 KiB
glibc malloc
  in use | 2, 64 B
  free | 1, 32 B
  a chunk of no size
Types
  Order | 3, 96 B
  blocks of 24 bytes | 1, 24 B
Reached from
  g_cache | 3, 96 B
Nothing leads to | 1, 24 B
`);
  assert.strictEqual(size(200 * 1024 ** 3), '200 GiB');
});
