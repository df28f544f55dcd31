import type { Command } from 'commander';
import { VaultHistory } from '../../core/index.js';
import { AlreadyRunning } from '../../folder/index.js';
import type { Run } from '../command.js';
import type { Context, OpenVault } from '../context.js';
import { UsageError } from '../errors.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { formatMoment, jsonMoment } from '../history/moments.js';
import { leftOverLines } from '../lists.js';
import { confirmOn } from '../mass-deletion.js';
import { syncOnce } from '../sync-engine.js';
import { keepReport, linesOf, type SyncDocument } from '../sync-report.js';

/** Longest label in bytes whose encrypted form the service accepts. */
const MOST_BYTES = 6_000;

export function registerCheckpoint(program: Command, run: Run): void {
  program
    .command('checkpoint')
    .description('sync, and mark what is there now; `restore --checkpoint` brings it back')
    .argument('[label]', 'its name, encrypted like everything; device and time unless given')
    .option('--folder <folder>', 'a folder that is set up; the current directory unless given')
    .action(
      run((context: Context, label: string | undefined, { folder }: { readonly folder?: string }) =>
        context.withVault(folder, (opened) => checkpoint(context, opened, label)),
      ),
    );
}

async function checkpoint(context: Context, opened: OpenVault, given: string | undefined): Promise<ExitCode> {
  const { output, options } = context;
  const { folder, workspace, keys } = opened;
  const label = given ?? `${folder.settings.device}, ${formatMoment(new Date())}`;
  if (label === '' || Buffer.byteLength(label) > MOST_BYTES)
    throw new UsageError(`a label has 1 to ${MOST_BYTES} bytes`);
  if (options.dryRun === true) {
    output.result({ folder: folder.root, label }, [`would sync, and create the checkpoint ${label}`]);
    return EXIT.ok;
  }
  const synced = await syncUnlessRunning(context, opened);
  if (synced && synced.exitCode !== EXIT.ok && synced.exitCode !== EXIT.leftOver) {
    output.result({ ...synced, checkpoint: null }, [...linesOf(synced), 'no checkpoint was made']);
    return synced.exitCode;
  }
  const { id, createdAt, cursor } = await new VaultHistory(workspace, keys).createCheckpoint(label);
  const leftOver = synced?.leftOver ?? [];
  const made = { id, label, createdAt: jsonMoment(createdAt), cursor };
  output.result({ folder: folder.root, checkpoint: made, leftOver }, [
    ...leftOverLines(leftOver),
    `${id}  ${formatMoment(createdAt)}  ${label}`,
  ]);
  return leftOver.length > 0 ? EXIT.leftOver : EXIT.ok;
}

/** If another process syncs the folder, the checkpoint marks what that process has sent so far. */
async function syncUnlessRunning(context: Context, opened: OpenVault): Promise<SyncDocument | undefined> {
  const { output, prompt, options, onProgress } = context;
  const { signal } = context.interruption;
  const { folder } = opened;
  try {
    return await context.withLock(folder, async () => {
      context.listen();
      const confirm = confirmOn(prompt, options.yes === true);
      const document = await syncOnce({ ...opened, settings: folder.settings, signal, confirm, onProgress });
      const problem = await keepReport(folder, document);
      if (problem !== undefined) output.note(problem);
      return document;
    });
  } catch (error) {
    if (!(error instanceof AlreadyRunning)) throw error;
    output.note('Another process syncs this folder: the checkpoint marks what that has sent so far.');
    return undefined;
  }
}
