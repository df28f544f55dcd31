import type { Command } from 'commander';
import { VaultHistory } from '../../core/index.js';
import type { Run } from '../command.js';
import type { Context, OpenVault } from '../context.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { type RestoreDocument, runRestore, type Wish } from '../history/run-restore.js';
import { leftOverLines, listed } from '../lists.js';
import { type RestoreOptions, targetOf } from '../history/target.js';

export function registerRestore(program: Command, run: Run): void {
  program
    .command('restore')
    .description(
      'bring back a file, a directory or the whole folder as it was; nothing that is there is lost',
    )
    .argument('[place]', 'a file or directory of a folder that is set up; the current directory unless given')
    .option('--version <number>', 'the version that `log` lists')
    .option('--at <moment>', "what was there then: '2026-11-27 14:30'")
    .option('--checkpoint <id or label>', 'what was there at a checkpoint')
    .action(
      run(async (context: Context, argument: string | undefined, options: RestoreOptions) => {
        const place = await context.place(argument);
        const folder = await context.folder(argument);
        const scope = place === folder.root ? '' : folder.vaultPath(place);
        const wish = { scope, place, options };
        return context.withVault(folder, async (opened) =>
          context.options.dryRun === true
            ? preview(context, opened, wish)
            : context.withLock(folder, async () => tell(context, await runRestore(context, opened, wish))),
        );
      }),
    );
}

function tell({ output }: Context, document: RestoreDocument): ExitCode {
  const { restored, removed, same, before, conflicts, leftOver, stopped, exitCode } = document;
  output.result(document, [
    ...listed('restored', restored),
    ...listed('removed', removed),
    ...conflicts.map(({ path, copy }) => `kept: what ${path} was before is ${copy}`),
    ...leftOverLines(leftOver),
    `${document.what}: ${restored.length} restored, ${removed.length} removed, ${same + before} were so already`,
    ...(stopped === null ? [] : [`stopped: ${stopped}; the same command goes on where it was`]),
  ]);
  return exitCode;
}

/** Compares with the server only; local edits that were not uploaded are not considered. */
async function preview({ output }: Context, opened: OpenVault, wish: Wish): Promise<ExitCode> {
  const { folder, workspace, keys } = opened;
  const target = await targetOf(new VaultHistory(workspace, keys), wish.scope, wish.place, wish.options);
  const pathsOf = (isIt: (then: unknown) => boolean): string[] =>
    target.files.filter(({ then }) => isIt(then)).map(({ path }) => path);
  const restored = pathsOf((then) => typeof then === 'object');
  const removed = pathsOf((then) => then === 'absent');
  const lost = pathsOf((then) => then === 'lost');
  const { what, unreadable } = target;
  output.result({ folder: folder.root, what, restored, removed, lost, unreadable }, [
    ...listed('would restore', restored),
    ...listed('would remove', removed),
    ...listed('the server no longer has', lost),
    `${what}: ${restored.length} to restore, ${removed.length} to remove`,
  ]);
  return lost.length + unreadable > 0 ? EXIT.leftOver : EXIT.ok;
}
