import type { Command } from 'commander';
import type { Run } from '../command.js';
import type { Context, OpenVault } from '../context.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { leftOverLines } from '../lists.js';
import { confirmOn, questionOf } from '../mass-deletion.js';
import { selected, type SelectionOptions, withSelection } from '../selection.js';
import { type EngineParts, previewOf, syncOnce } from '../sync-engine.js';
import { keepReport, linesOf } from '../sync-report.js';

export function registerSync(program: Command, run: Run): void {
  withSelection(program.command('sync', { isDefault: true }))
    .description('make a folder and its workspace agree, once')
    .argument('[folder]', 'a folder that is set up; the current directory unless given')
    .action(
      run((context: Context, folder: string | undefined, options: SelectionOptions) =>
        context.withVault(folder, (opened) => {
          const { signal } = context.interruption;
          const settings = selected(opened.folder.settings, options);
          const parts = { ...opened, settings, signal };
          return context.options.dryRun === true ? preview(context, parts) : sync(context, opened, parts);
        }),
      ),
    );
}

async function sync(context: Context, { folder }: OpenVault, parts: EngineParts): Promise<ExitCode> {
  const { output, prompt, options, onProgress } = context;
  return context.withLock(folder, async () => {
    context.listen();
    const confirm = confirmOn(prompt, options.yes === true);
    const document = await syncOnce({ ...parts, confirm, onProgress });
    const problem = await keepReport(folder, document);
    output.result(document, linesOf(document));
    if (problem !== undefined) output.note(problem);
    return document.exitCode;
  });
}

async function preview({ output }: Context, parts: EngineParts): Promise<ExitCode> {
  const { plan, massDeletions } = await previewOf(parts);
  const operations = plan.operations.map(({ kind, path }) => ({ kind, path }));
  const questions = massDeletions.map(({ direction, paths, of }) => ({ direction, count: paths.length, of }));
  const document = {
    folder: parts.folder.root,
    operations,
    leftOver: plan.heldBack,
    massDeletions: questions,
  };
  output.result(document, [
    ...operations.map(({ kind, path }) => `would ${kind}: ${path}`),
    ...leftOverLines(plan.heldBack),
    ...massDeletions.map((deletions) => `would ask: ${questionOf(deletions)}`),
    ...(operations.length === 0 ? ['nothing to do'] : []),
  ]);
  if (massDeletions.length > 0) return EXIT.confirmationNeeded;
  return plan.heldBack.length > 0 ? EXIT.leftOver : EXIT.ok;
}
