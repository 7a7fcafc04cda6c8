// What an editor asks of corewalk dap, by the client that tests of adapters use. It prints what it got.
const { DebugClient } = require('@vscode/debugadapter-testsupport');
(async () => {
  const [corewalk, core, binary, sysroot] = process.argv.slice(2);
  const dc = new DebugClient(corewalk, 'dap', 'corewalk', undefined, false);
  await dc.start();
 const stopped = dc.waitForEvent('stopped');
  const [, , ev] = await Promise.all([dc.configurationSequence(), dc.launch({ core, binary, sysroot }), stopped]);
  const threads = (await dc.threadsRequest()).body.threads;
  const trace = (await dc.stackTraceRequest({ threadId: ev.body.threadId })).body;
  const frame = trace.stackFrames[2];
  const scopes = (await dc.scopesRequest({ frameId: frame.id })).body.scopes;
  const locals = (await dc.variablesRequest({ variablesReference: scopes[1].variablesReference })).body.variables;
  const here = locals.find((v) => v.name === 'here');
  const parts = (await dc.variablesRequest({ variablesReference: here.variablesReference })).body.variables;
  const watch = (await dc.evaluateRequest({ expression: 'here.next->weight.whole', frameId: frame.id })).body;
  let refused = '';
  try { await dc.continueRequest({ threadId: ev.body.threadId }); } catch (e) { refused = e.message; }
  await dc.stop();
  console.log(JSON.stringify({ reason: ev.body.reason, threads: threads.length, frames: trace.stackFrames.map((f) => f.name), locals: locals.length,
    parts: parts.map((p) => p.name), watch: watch.result, refused }));
})().catch((e) => { console.error(e); process.exit(1); });
