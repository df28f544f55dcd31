import type { Command } from 'commander';
import type { Run } from '../command.js';
import type { Context } from '../context.js';
import { checked, type Finding } from '../doctor/check.js';
import { checkDisk, checkIgnoreFile, checkNames, checkWatches } from '../doctor/disk.js';
import { checkService, checkSignIn, checkVault } from '../doctor/service.js';
import { checkJournal, checkLock, checkMarker, checkPrivacy } from '../doctor/state.js';
import { sentenceOf } from '../errors.js';
import { EXIT } from '../exit-codes.js';
import type { SyncedFolder } from '../synced-folder.js';

export function registerDoctor(program: Command, run: Run): void {
  program
    .command('doctor')
    .description('check a folder, its disk, its state, the service and the vault; changes nothing')
    .argument('[folder]', 'a folder that is set up; the current directory unless given')
    .action(
      run(async (context: Context, argument: string | undefined) => {
        const folder = await context.folder(argument);
        const findings = [...(await ofTheService(context, folder)), ...(await ofTheFolder(folder))];
        const isSound = findings.every(({ level }) => level !== 'failed');
        const lines = findings.map(({ level, what, detail }) => `${level.padEnd(7)}  ${what}: ${detail}`);
        context.output.result({ folder: folder.root, isSound, findings }, lines);
        return isSound ? EXIT.ok : EXIT.failed;
      }),
    );
}

type Check = readonly [what: string, check: () => Promise<Finding | readonly Finding[]>];

async function all(checks: readonly Check[]): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [what, check] of checks) findings.push(...(await checked(what, check, sentenceOf)));
  return findings;
}

function ofTheService(context: Context, folder: SyncedFolder): Promise<Finding[]> {
  return all([
    ['service', async () => checkService(await context.session(folder))],
    ['sign-in', async () => checkSignIn(await context.session(folder), folder)],
    ['vault', async () => checkVault(context, await context.session(folder), folder)],
  ]);
}

function ofTheFolder(folder: SyncedFolder): Promise<Finding[]> {
  return all([
    ['privacy', () => checkPrivacy(folder)],
    ['lock', () => checkLock(folder)],
    [
      'journal',
      async () => {
        const [journal, state] = await checkJournal(folder);
        const marker = await checkMarker(folder, state);
        if (marker.level === 'failed') return [journal, marker]; // checkDisk creates files in the folder, so not in the wrong one
        const [disk, traits] = await checkDisk(folder);
        return [journal, marker, ...disk, checkNames(state, traits)];
      },
    ],
    [
      'ignore file',
      async () => {
        const [findings, tree] = await checkIgnoreFile(folder);
        return [...findings, await checkWatches(tree)];
      },
    ],
  ]);
}
