import * as assert from 'node:assert';
import { test } from 'node:test';
import { DebugClient } from '@vscode/debugadapter-testsupport';
import { Item, view } from '../tree';

// COREWALK is the program; CORE, BINARY and SYSROOT a dump of testdata/src/vars.c, and SOURCES where that is.
const { COREWALK, CORE, BINARY, SYSROOT, SOURCES } = process.env;

async function open(): Promise<{ client: DebugClient; thread: number; reason: string }> {
  const client = new DebugClient(COREWALK!, 'dap', 'corewalk', undefined, false);
  await client.start();
  const stopped = client.waitForEvent('stopped');
  const launch = { core: CORE, binary: BINARY, sysroot: SYSROOT, sourceMap: { '/src': SOURCES } };
  const [, , event] = await Promise.all([client.configurationSequence(), client.launch(launch as never), stopped]);
  return { client, thread: event.body.threadId, reason: event.body.reason };
}

test('what an editor asks', { skip: !COREWALK && 'COREWALK is not set' }, async () => {
  const { client, thread, reason } = await open();
  assert.strictEqual(reason, 'exception');
  assert.strictEqual((await client.threadsRequest()).body.threads.length, 1);
  const frames = (await client.stackTraceRequest({ threadId: thread })).body.stackFrames;
  assert.deepStrictEqual(frames.slice(0, 4).map((f) => f.name), ['stop', 'arrays', 'records', 'numbers']);
  assert.strictEqual(frames[0].source?.path, `${SOURCES}/vars.c`);
  const frameId = frames[2].id;
  const scopes = (await client.scopesRequest({ frameId })).body.scopes;
  const locals = (await client.variablesRequest({ variablesReference: scopes[1].variablesReference })).body.variables;
  assert.strictEqual(locals.length, 8);
  const here = locals.find((v) => v.name === 'here');
  const parts = (await client.variablesRequest({ variablesReference: here!.variablesReference })).body.variables;
  assert.deepStrictEqual(parts.map((p) => p.name), ['next', 'name', 'visit', 'weight', '{...}', 'flags']);
  assert.strictEqual((await client.evaluateRequest({ expression: 'here.next->weight.whole', frameId })).body.result, '9');
  assert.match((await client.evaluateRequest({ expression: 'info locals', frameId, context: 'repl' })).body.result, /here = /);
  assert.match((await client.exceptionInfoRequest({ threadId: thread })).body.description!, /cause: \*p where p = 0x0/);
  const why = /^the process is only read: it is not run and not changed$/;
  await assert.rejects(client.continueRequest({ threadId: thread }), { message: why });
  await assert.rejects(client.nextRequest({ threadId: thread, granularity: 'instruction' }), { message: why });
  await assert.rejects(client.setVariableRequest({ variablesReference: scopes[1].variablesReference, name: 'here', value: '1' }), { message: why });
  await client.stop();
});

const find = (items: Item[], label: RegExp) => items.find((i) => label.test(i.label));

test('the view of a dump', { skip: !COREWALK && 'COREWALK is not set' }, async () => {
  const { client } = await open();
  const items = view((await client.customRequest('cause')).body);
  const parts = async (i: Item) => i.later!.make((await client.customRequest(i.later!.request)).body);
  const cause = find(items, /^SIGSEGV: write of 4 bytes at null/);
  assert.ok(cause, JSON.stringify(items));
  assert.ok(find(cause.children!, /^\*p where p = 0x0/));
  assert.strictEqual(find(cause.children!, /^stop$/)?.open?.file, `${SOURCES}/vars.c`);
  assert.match((await parts(items[1]))[0].label, /^thread \d+.*\[crashed\]$/);
  assert.strictEqual((await parts(items[2]))[0].label, 'none are known');
  const memory = await parts(items[3]);
  assert.ok(find(find(memory, /^Mappings$/)!.children!, /^stack$/), JSON.stringify(memory));
  assert.deepStrictEqual((await client.customRequest('moreThreads')).body, { added: 0, more: false });
  await client.stop();
});
