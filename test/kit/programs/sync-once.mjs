// Syncs FOLDER once, in a process of its own whose memory can be measured, and prints a line of JSON.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const { PACKAGE, SYNC_URL, ACCESS_TOKEN, WORKSPACE, MASTER_KEY, FOLDER, STATE } = process.env;
const load = (name) => import(pathToFileURL(join(PACKAGE, name)).href);
const { deriveVaultKeys, fromHex, Session } = await load('core.js');
const { FolderSync, NodeDisk, NodeStateFile, systemClock, systemRandom, VaultCipher, WorkspaceRemote } =
  await load('folder.js');

const session = Session.withAccessToken(SYNC_URL, ACCESS_TOKEN);
const keys = await deriveVaultKeys(fromHex(MASTER_KEY));
const remote = new WorkspaceRemote(session, WORKSPACE, 'laptop', () => folder.stamp);
const stateFile = new NodeStateFile(join(STATE, 'journal'));
const folder = await FolderSync.open({
  parts: {
    disk: new NodeDisk(FOLDER),
    remote,
    cipher: new VaultCipher(keys),
    clock: systemClock,
    random: systemRandom,
  },
  stateFile,
  workspace: WORKSPACE,
  options: { device: 'laptop', maxFileBytes: 1024 ** 4 },
});
const { stopped, leftOver } = await folder.sync();
await stateFile.close();
const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
console.log(JSON.stringify({ stopped, leftOver, peakMib: Number(peak) / 1024 }));
