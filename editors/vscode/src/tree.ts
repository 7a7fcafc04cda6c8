// What the view shows of a report of corewalk and of what it says of memory. It knows nothing of the editor.

export interface Source { file: string; line?: number }
export interface Frame { index: number; pc: string; function?: string; module?: string; source?: Source; trust?: string; inlined?: boolean; signal?: string }
export interface TaskRef { kind: string; id: number }
export interface WaitObject { address: string; name?: string; type?: string; detail?: string }
export interface Wait { kind: string; reason?: string; certainty?: string; object?: WaitObject; holders?: TaskRef[]; timed?: boolean; note?: string }
export interface Task extends TaskRef { name?: string; thread?: number; state: string; status?: string; wait?: Wait; frames?: Frame[] }
export interface Report {
  schema: string;
  crash: null | { signal?: string; exception?: string; reason?: string; message?: string; thread: number; frame?: number; causes?: { text: string; confidence?: string }[] };
  threads: { id: number; name: string; crashed: boolean; frames: Frame[] }[];
  tasks?: Task[];
  deadlocks?: { certainty: string; tasks: TaskRef[]; objects: WaitObject[]; places: { function?: string; source?: Source }[]; asleep?: boolean }[];
  contended?: { object: WaitObject; waiters: TaskRef[]; holders?: TaskRef[] }[];
  warnings: { text?: string; message?: string }[];
}
export interface Memory {
  schema: string;
  mapped: number;
  areas: { kind: string; mappings: number; bytes: number }[];
  allocators: { name: string; used: { count: number; bytes: number }; free: { count: number; bytes: number }; damages?: string[] }[];
  types: { name?: string; size?: number; count: number; bytes: number }[];
  roots?: { name: string; count: number; bytes: number }[];
  unreached?: { count: number; bytes: number };
}

// An Item is a line of the view. open is the source that it leads to; later says what to ask of the adapter
// when it is opened, and makes its parts of the answer.
export interface Item { label: string; description?: string; children?: Item[]; open?: Source; icon?: string; expanded?: boolean; later?: Later }
export interface Later { request: string; make: (answer: any) => Item[] }

// maxItems is how many lines of one kind are shown.
export const maxItems = 200;

// some makes items of the first of a list, and says how many follow.
function some<T>(list: T[] | undefined, make: (t: T, i: number) => Item): Item[] {
  const all = list ?? [];
  const items = all.slice(0, maxItems).map(make);
  if (all.length > maxItems) items.push({ label: `${all.length - maxItems} more` });
  return items;
}

const base = (path: string) => path.split(/[/\\]/).pop() ?? path;
const place = (s?: Source) => (s?.file ? base(s.file) + (s.line ? `:${s.line}` : '') : '');
const named = (o?: WaitObject) => (o ? o.name || `${o.type ?? ''} ${o.address}`.trim() : '');
const task = (t: TaskRef) => `${t.kind} ${t.id}`;

export function size(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let i = 0;
  for (; bytes >= 1024 && i + 1 < units.length; i++) bytes /= 1024;
  return `${i === 0 || bytes >= 100 ? Math.round(bytes) : bytes.toFixed(1)} ${units[i]}`;
}

function frame(f: Frame): Item {
  if (f.signal) return { label: `signal ${f.signal}`, icon: 'zap' };
  return { label: (f.function || f.pc) + (f.inlined ? ' [inlined]' : ''), description: place(f.source) || base(f.module ?? ''), open: f.source?.file ? f.source : undefined };
}

// where is the frame to show of a stack: the first with a source.
const where = (frames: Frame[]) => frames.find((f) => f.source?.file) ?? frames[0];

function cause(r: Report): Item {
  const c = r.crash;
  if (!c) return { label: 'Cause', description: 'nothing says that the process died', icon: 'info' };
  const what = c.signal || c.exception || 'died';
  const children: Item[] = [];
  for (const line of (c.message ?? '').split('\n')) if (line.trim()) children.push({ label: line, icon: 'comment' });
  children.push(...some(c.causes, (x) => ({ label: x.text, description: x.confidence, icon: 'lightbulb' })));
  const frames = r.threads.find((t) => t.id === c.thread)?.frames ?? [];
  children.push(...some(frames.slice(c.frame ?? 0), frame));
  return { label: c.reason ? `${what}: ${c.reason}` : what, description: `thread ${c.thread}`, children, icon: 'flame', expanded: true };
}

function threads(r: Report): Item[] {
  return some(r.threads, (t) => {
    const at = where(t.frames);
    return { label: `thread ${t.id}${t.name ? ` ${t.name}` : ''}${t.crashed ? ' [crashed]' : ''}`, description: at ? [at.function, place(at.source)].filter(Boolean).join(' ') : '', children: some(t.frames, frame), open: at?.source };
  });}

function waits(r: Report): Item[] {
  const children = some(r.deadlocks, (d): Item => ({
    label: d.asleep ? 'all goroutines are asleep' : 'deadlock', description: d.certainty, icon: 'error', expanded: true,
    children: some(d.tasks, (t, i) => ({
      label: task(t), open: d.places[i]?.source,
      description: [named(d.objects[i]) && `waits for ${named(d.objects[i])}`, d.places[i]?.function, place(d.places[i]?.source)].filter(Boolean).join(' '),
    })),
  }));
  children.push(...some(r.contended, (c): Item => ({
    label: `${named(c.object)}: ${c.waiters.length} wait`, description: c.holders?.length ? `held by ${c.holders.map(task).join(', ')}` : '', icon: 'lock',
    children: some(c.waiters, (t) => ({ label: task(t) })),
  })));
  children.push(...some(r.tasks?.filter((t) => t.wait), (t): Item => {
    const at = where(t.frames ?? []);
    return { label: task(t), description: [t.wait?.reason || t.wait?.kind, named(t.wait?.object), place(at?.source)].filter(Boolean).join(' '), children: some(t.frames, frame), open: at?.source };
  }));
  return children.length ? children : [{ label: 'none are known' }];
}

// view is the whole of it, from a report of the thread that died: a report of all threads is asked for when it is wanted, as it may take long.
export function view(r: Report): Item[] {
  return [
    cause(r),
    { label: 'Threads', icon: 'list-tree', later: { request: 'summary', make: threads } },
    { label: 'Waits', icon: 'watch', later: { request: 'summary', make: waits } },
    { label: 'Memory', icon: 'database', later: { request: 'memory', make: memoryTree } },
  ];
}

// memoryTree is what the view has below Memory.
function memoryTree(m: Memory): Item[] {
  const row = (label: string, count: number, bytes: number): Item => ({ label, description: `${count}, ${size(bytes)}` });
  const group = (label: string, children: Item[], description = ''): Item[] => (children.length ? [{ label, children, description }] : []);
  return [
    ...group('Mappings', some(m.areas, (a) => row(a.kind, a.mappings, a.bytes)), size(m.mapped)),
    ...m.allocators.map((a): Item => ({ label: a.name, children: [row('in use', a.used.count, a.used.bytes), row('free', a.free.count, a.free.bytes), ...some(a.damages, (d) => ({ label: d, icon: 'warning' }))] })),
    ...group('Types', some(m.types, (t) => row(t.name || `blocks of ${t.size ?? 0} bytes`, t.count, t.bytes))),
    ...group('Reached from', some(m.roots, (x) => row(x.name, x.count, x.bytes))),
    ...(m.unreached ? [row('Nothing leads to', m.unreached.count, m.unreached.bytes)] : []),
  ];
}
