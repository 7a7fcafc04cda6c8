import * as assert from 'node:assert';
import { test } from 'node:test';

// What the extension registers with a stand-in for the editor, as the editor itself cannot run in a test.
const registered: Record<string, any> = {};
const started: any[] = [];
const remember = (name: string) => (id: unknown, what: unknown) => {
  registered[typeof id === 'string' ? `${name} ${id}` : name] = what ?? id;
  return { dispose() {} };
};
class EventEmitter {
  private listeners: (() => void)[] = [];
  event = (l: () => void) => { this.listeners.push(l); };
  fire = () => this.listeners.forEach((l) => l());
}
const folder = { uri: { fsPath: '/srv/crashes' } };
const vscode: any = {
  EventEmitter,
  DebugAdapterExecutable: class { constructor(readonly command: string, readonly args: string[]) {} },
  TreeItem: class { constructor(readonly label: string, readonly collapsibleState: number) {} },
  ThemeIcon: class { constructor(readonly id: string) {} },
  Range: class { constructor(readonly line: number) {} },
  TreeItemCollapsibleState: { None: 0, Collapsed: 1, Expanded: 2 },
  Uri: { file: (fsPath: string) => ({ fsPath }) },
  window: { registerTreeDataProvider: remember('view'), showOpenDialog: async () => [{ fsPath: '/picked' }], setStatusBarMessage: () => {} },
  workspace: { getConfiguration: () => ({ get: () => '/usr/local/bin/corewalk' }), getWorkspaceFolder: () => undefined, workspaceFolders: [folder], asRelativePath: (p: string) => p.replace('/srv/crashes/', '') },
  commands: { registerCommand: remember('command') },
  debug: {
    registerDebugAdapterDescriptorFactory: remember('factory'), registerDebugConfigurationProvider: remember('provider'), registerDebugAdapterTrackerFactory: remember('tracker'),
    onDidChangeActiveDebugSession: remember('changed'), onDidTerminateDebugSession: remember('ended'),
    startDebugging: async (...args: unknown[]) => { started.push(args); return true; },
  },
};
const loader = require('node:module');
const load = loader._load;
loader._load = (name: string, ...rest: unknown[]) => (name === 'vscode' ? vscode : load(name, ...rest));
require('../extension').activate({ subscriptions: [] });

test('the adapter is the program of the setting', () => {
  const e = registered['factory corewalk'].createDebugAdapterDescriptor();
  assert.deepStrictEqual([e.command, e.args], ['/usr/local/bin/corewalk', ['dap']]);
});

test('a core is opened from the explorer, and one that is picked', async () => {
  await registered['command corewalk.openCore']({ fsPath: '/srv/crashes/core.7' });
  await registered['command corewalk.openCore']();
  assert.deepStrictEqual(started, [
    [folder, { type: 'corewalk', request: 'launch', name: 'core.7', core: '/srv/crashes/core.7', search: '/srv/crashes' }],
    [folder, { type: 'corewalk', request: 'launch', name: '/picked', core: '/picked', search: '/srv/crashes' }],
  ]);
  const { resolveDebugConfiguration } = registered['provider corewalk'];
  assert.deepStrictEqual(await resolveDebugConfiguration(undefined, {}), { type: 'corewalk', request: 'launch', name: 'core', core: '/picked' });
  assert.deepStrictEqual(await resolveDebugConfiguration(undefined, { core: 'a', name: 'b', request: 'attach' }), { type: 'corewalk', request: 'attach', name: 'b', core: 'a' });
});

test('the view asks when the dump is open, and once', async () => {
  const view = registered['view corewalk.summary'];
  const asked: string[] = [];
  let open = false;
  const session = {
    type: 'corewalk',
    customRequest: async (request: string) => {
      asked.push(request);
      if (!open) throw new Error('no dump is open yet');
      if (request === 'memory') return { mapped: 1, areas: [], allocators: [], types: [], unreached: { count: 1, bytes: 2 } };
      return { crash: { signal: 'SIGSEGV', thread: 1 }, threads: [{ id: 1, name: '', crashed: true, frames: [{ index: 0, pc: '0x1', function: 'f', source: { file: '/a.c', line: 3 } }] }], warnings: [] };
    },
  };
  let redrawn = 0;
  view.onDidChangeTreeData(() => redrawn++);
  assert.deepStrictEqual(await view.getChildren(), []);
  registered['changed']({ ...session, type: 'node' });
  assert.strictEqual(redrawn, 0);
  registered['changed'](session);
  assert.strictEqual((await view.getChildren())[0].label, 'no dump is open yet');
  open = true;
  registered['tracker corewalk'].createDebugAdapterTracker(session).onDidSendMessage({ type: 'event', event: 'stopped' });
  const items = await view.getChildren();
  await view.getChildren();
  assert.deepStrictEqual(items.map((i: any) => i.label), ['SIGSEGV', 'Threads', 'Waits', 'Memory']);
  assert.deepStrictEqual(asked, ['cause', 'cause']); // a report of all threads may take long
  assert.match((await view.getChildren(items[1]))[0].label, /^thread 1/);
  await view.getChildren(items[2]);
  assert.deepStrictEqual(asked, ['cause', 'cause', 'summary']);
  assert.strictEqual((await view.getChildren(items[3]))[0].label, 'Nothing leads to');
  const frame = view.getTreeItem((await view.getChildren(items[0]))[0]);
  assert.deepStrictEqual([frame.command.command, frame.command.arguments[0].fsPath, frame.command.arguments[1].selection.line], ['vscode.open', '/a.c', 2]);
  registered['ended'](session);
  assert.deepStrictEqual(await view.getChildren(), []);
  assert.strictEqual(redrawn, 3);
});
