import type { Command } from 'commander';
import { Lock, RemoteUnavailable } from '../../folder/index.js';
import type { Run } from '../command.js';
import type { Context, OpenVault } from '../context.js';
import { exitCodeOf, sentenceOf } from '../errors.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { readText } from '../text-file.js';
import { describeSelection } from '../settings.js';
import { type Preview, previewOf } from '../sync-engine.js';
import type { SyncedFolder } from '../synced-folder.js';
import { JournalCopy } from '../preview.js';

export function registerStatus(program: Command, run: Run): void {
  program
    .command('status')
    .description('show how a folder is set up, how the last sync ended, and what the next one would do')
    .argument('[folder]', 'a folder that is set up; the current directory unless given')
    .option('--offline', 'do not ask the service')
    .action(
      run(async (context: Context, argument: string | undefined, options: { readonly offline?: boolean }) => {
        const folder = await context.folder(argument);
        const pending = options.offline === true ? undefined : await pendingOf(context, folder);
        return tell(context, folder, pending);
      }),
    );
}

type Pending = Preview | { readonly problem: string; readonly exitCode: ExitCode };

/** Retries once, because a sync in progress can change the folder during the preview. */
async function pendingOf(context: Context, folder: SyncedFolder): Promise<Pending> {
  const { signal } = context.interruption;
  const look = (opened: OpenVault): Promise<Preview> =>
    previewOf({ ...opened, settings: folder.settings, signal });
  try {
    return await context.withVault(folder, (opened) =>
      look(opened).catch((error: unknown) => {
        if (error instanceof RemoteUnavailable) throw error;
        return look(opened);
      }),
    );
  } catch (error) {
    return { problem: sentenceOf(error), exitCode: exitCodeOf(error) };
  }
}

async function tell(
  { output }: Context,
  folder: SyncedFolder,
  pending: Pending | undefined,
): Promise<ExitCode> {
  const { root, settings, state } = folder;
  const { service, workspace, device, keepsKey } = settings;
  const { synced, cursor } = await (await JournalCopy.of(folder.journal)).state();
  const process = (await Lock.holder(folder.lock)) ?? null;
  const lastSync = JSON.parse((await readText(folder.lastReport)) ?? 'null') as LastSync | null;
  const next = pending && documentOf(pending);
  const document = {
    ...{ folder: root, service, workspace, device, state, keepsKey, only: settings.only ?? null },
    ...{
      maxSize: settings.maxSize,
      files: synced.size,
      cursor: cursor ?? null,
      process,
      lastSync,
      next: next ?? null,
    },
  };
  output.result(document, [
    `folder     ${root} (${describeSelection(settings)})`,
    `workspace  ${workspace} at ${service}, as ${device}`,
    `in sync    ${synced.size} files`,
    `last sync  ${lastSync ? describe(lastSync) : 'none yet'}`,
    ...(process === null ? [] : [`running    process ${process}`]),
    ...(next ? [`next sync  ${summary(next)}`] : []),
    ...(next?.leftOver ?? []).map(({ path, reason }) => `left over  ${path}: ${reason}`),
  ]);
  if (!next) return EXIT.ok;
  if (next.exitCode !== EXIT.ok) return next.exitCode;
  return next.leftOver.length > 0 ? EXIT.leftOver : EXIT.ok;
}

/** As written by `keepReport`. */
interface LastSync {
  readonly at: string;
  readonly stopped: string | null;
  readonly leftOver: readonly unknown[];
}

const describe = ({ at, stopped, leftOver }: LastSync): string =>
  `${at}${stopped === null ? '' : `, stopped: ${stopped}`}${leftOver.length > 0 ? `, ${leftOver.length} left over` : ''}`;

interface Next {
  /** Number of steps of each kind. */
  readonly operations: Readonly<Record<string, number>>;
  readonly leftOver: readonly { readonly path: string; readonly reason: string }[];
  readonly problem: string | null;
  readonly exitCode: ExitCode;
}

function documentOf(pending: Pending): Next {
  if ('problem' in pending) return { operations: {}, leftOver: [], ...pending };
  const operations: Record<string, number> = {};
  for (const { kind } of pending.plan.operations) operations[kind] = (operations[kind] ?? 0) + 1;
  return { operations, leftOver: pending.plan.heldBack, problem: null, exitCode: EXIT.ok };
}

function summary({ operations, problem }: Next): string {
  if (problem !== null) return `cannot be told: ${problem}`;
  const counts = Object.entries(operations).map(([kind, count]) => `${count} × ${kind}`);
  return counts.length === 0 ? 'nothing to do' : counts.join(', ');
}
