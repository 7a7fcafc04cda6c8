import * as vscode from 'vscode';
import { Item, view as root } from './tree';

const type = 'corewalk';

export function activate(context: vscode.ExtensionContext): void {
  const view = new Summary();
  context.subscriptions.push(
    vscode.window.registerTreeDataProvider('corewalk.summary', view),
    vscode.debug.registerDebugAdapterDescriptorFactory(type, {
      createDebugAdapterDescriptor: () => new vscode.DebugAdapterExecutable(vscode.workspace.getConfiguration(type).get('path', 'corewalk'), ['dap']),
    }),
    vscode.debug.registerDebugConfigurationProvider(type, { resolveDebugConfiguration: (_folder, config) => resolve(config) }),
    vscode.debug.registerDebugAdapterTrackerFactory(type, {
      createDebugAdapterTracker: (session) => ({ onDidSendMessage: (m) => { if (m.type === 'event' && m.event === 'stopped') view.opened(session); } }),
    }),
    vscode.debug.onDidChangeActiveDebugSession((s) => { if (s?.type === type) view.show(s); }),
    vscode.debug.onDidTerminateDebugSession((s) => view.ended(s)),
    vscode.commands.registerCommand('corewalk.openCore', (uri?: vscode.Uri) => openCore(uri)),
    vscode.commands.registerCommand('corewalk.moreThreads', moreThreads),
    vscode.commands.registerCommand('corewalk.refresh', () => view.refresh()),
  );
}

async function pick(): Promise<string | undefined> {
  const files = await vscode.window.showOpenDialog({ title: 'A core, a minidump or a pack', openLabel: 'Open', canSelectMany: false });
  return files?.[0]?.fsPath;
}

// resolve asks for a core if the configuration names none, as when there is no launch.json.
async function resolve(config: vscode.DebugConfiguration): Promise<vscode.DebugConfiguration | undefined> {
  const core = config.core || (await pick());
  return core ? { ...config, type, request: config.request || 'launch', name: config.name || 'core', core } : undefined;
}

async function openCore(uri?: vscode.Uri): Promise<void> {
  const core = uri?.fsPath ?? (await pick());
  if (!core) return;
  const folder = vscode.workspace.getWorkspaceFolder(vscode.Uri.file(core)) ?? vscode.workspace.workspaceFolders?.[0];
  await vscode.debug.startDebugging(folder, { type, request: 'launch', name: vscode.workspace.asRelativePath(core), core, ...(folder && { search: folder.uri.fsPath }) });
}

async function moreThreads(): Promise<void> {
  const session = vscode.debug.activeDebugSession;
  if (session?.type !== type) return;
  const { added, more } = await session.customRequest('moreThreads');
  void vscode.window.setStatusBarMessage(`corewalk: ${added} more${more ? ', others follow' : ''}`, 5000);
}

// A Summary is the view: cause, threads, waits and memory of the session that was shown last.
class Summary implements vscode.TreeDataProvider<Item> {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;
  private session?: vscode.DebugSession;
  private asked = new Map<string, Thenable<unknown>>();

  show(session: vscode.DebugSession): void {
    if (session !== this.session) this.reset(session);
  }
  // opened says that the dump of a session is open: what was asked before failed.
  opened(session: vscode.DebugSession): void {
    this.reset(session);
  }
  ended(session: vscode.DebugSession): void {
    if (session === this.session) this.reset(undefined);
  }
  refresh(): void {
    this.reset(this.session);
  }
  private reset(session?: vscode.DebugSession): void {
    this.session = session;
    this.asked.clear();
    this.changed.fire();
  }

  // ask asks once: answers stay the same.
  private async ask(session: vscode.DebugSession, request: string): Promise<any> {
    let answer = this.asked.get(request);
    if (!answer) this.asked.set(request, (answer = session.customRequest(request)));
    return answer;
  }

  async getChildren(item?: Item): Promise<Item[]> {
    if (!this.session) return [];
    try {
      if (!item) return root(await this.ask(this.session, 'cause'));
      if (item.later) return item.later.make(await this.ask(this.session, item.later.request));
    } catch (e) {
      return [{ label: e instanceof Error ? e.message : String(e), icon: 'warning' }];
    }
    return item.children ?? [];
  }

  getTreeItem(item: Item): vscode.TreeItem {
    const { None, Collapsed, Expanded } = vscode.TreeItemCollapsibleState;
    const out = new vscode.TreeItem(item.label, item.children?.length || item.later ? (item.expanded ? Expanded : Collapsed) : None);
    out.description = item.description;
    out.tooltip = [item.label, item.description].filter(Boolean).join('\n');
    if (item.icon) out.iconPath = new vscode.ThemeIcon(item.icon);
    if (item.open) {
      const line = Math.max((item.open.line ?? 1) - 1, 0);
      out.command = { title: 'show the source', command: 'vscode.open', arguments: [vscode.Uri.file(item.open.file), { selection: new vscode.Range(line, 0, line, 0), preview: true }] };
    }
    return out;
  }
}
