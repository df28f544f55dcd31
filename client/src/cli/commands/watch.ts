import type { Command } from 'commander';
import type { Run } from '../command.js';
import type { Context } from '../context.js';
import { UsageError } from '../errors.js';
import { confirmOn } from '../mass-deletion.js';
import { selected, type SelectionOptions, withSelection } from '../selection.js';
import { WatchEvents } from '../watch/events.js';
import { Watching } from '../watch/watching.js';

interface WatchOptions extends SelectionOptions {
  readonly interval: string;
}

export function registerWatch(program: Command, run: Run): void {
  withSelection(program.command('watch'))
    .description('keep a folder in sync until it is ended; without a terminal it prints JSON lines')
    .argument('[folder]', 'a folder that is set up; the current directory unless given')
    .option('--interval <seconds>', 'scan the whole folder at least so often', '600')
    .action(
      run((context: Context, argument: string | undefined, options: WatchOptions) => {
        const intervalMs = intervalOf(options.interval);
        if (context.options.dryRun === true)
          throw new UsageError('watch has no dry run: use `cloud-sync sync --dry-run`');
        return context.withVault(argument, (opened) =>
          context.withLock(opened.folder, () => {
            const { interruption, output, prompt } = context;
            const events = new WatchEvents(output);
            context.listen();
            const parts = {
              ...opened,
              settings: selected(opened.folder.settings, options),
              signal: interruption.signal,
              confirm: confirmOn(prompt, context.options.yes === true, (deletions) =>
                events.confirmationNeeded(deletions),
              ),
              onProgress: ({ doing, path }: { doing: string; path: string }) => events.progress(doing, path),
            };
            return new Watching(parts, events, intervalMs).run();
          }),
        );
      }),
    );
}

function intervalOf(text: string): number {
  const seconds = Number(text);
  if (!Number.isFinite(seconds) || seconds < 1 || seconds > 86_400)
    throw new UsageError(`--interval ${text}: give 1 to 86400 seconds`);
  return seconds * 1_000;
}
