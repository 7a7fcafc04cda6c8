import * as assert from 'node:assert';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(__dirname, '..', '..');
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

// Each command and view that the manifest names is registered by the code, and each that is registered is named.
test('the manifest and the code name the same', () => {
  const code = readFileSync(join(root, 'src', 'extension.ts'), 'utf8');
  const registered = [...code.matchAll(/registerCommand\('([^']+)'/g)].map((m) => m[1]).sort();
  assert.deepStrictEqual(manifest.contributes.commands.map((c: { command: string }) => c.command).sort(), registered);
  for (const v of manifest.contributes.views.debug) assert.ok(code.includes(`registerTreeDataProvider('${v.id}'`), v.id);
});

// The attributes of a launch configuration are the arguments that the adapter takes.
test('the attributes of launch', { skip: !process.env.ARGUMENTS && 'ARGUMENTS does not list the arguments of the adapter' }, () => {
  assert.deepStrictEqual(Object.keys(manifest.contributes.debuggers[0].configurationAttributes.launch.properties).sort(), process.env.ARGUMENTS?.split(' ').sort());
});
