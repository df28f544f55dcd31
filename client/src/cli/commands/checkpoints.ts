import type { Command } from 'commander';
import { VaultHistory } from '../../core/index.js';
import type { Run } from '../command.js';
import type { Context } from '../context.js';
import { EXIT } from '../exit-codes.js';
import { formatMoment, jsonMoment } from '../history/moments.js';

export function registerCheckpoints(program: Command, run: Run): void {
  program
    .command('checkpoints')
    .description('list the checkpoints, newest first; `restore --checkpoint` goes back to one')
    .argument('[folder]', 'a folder that is set up; the current directory unless given')
    .action(
      run((context: Context, argument: string | undefined) =>
        context.withVault(argument, async ({ folder, workspace, keys }) => {
          const found = await new VaultHistory(workspace, keys).checkpoints();
          const lines = found.map(
            ({ id, label, createdAt }) =>
              `${id}  ${formatMoment(createdAt)}  ${label ?? '(a label that this vault does not open)'}`,
          );
          const checkpoints = found.map(({ createdAt, label, ...one }) => ({
            ...{ ...one, label: label ?? null, createdAt: jsonMoment(createdAt) },
          }));
          context.output.result(
            { folder: folder.root, checkpoints },
            lines.length > 0 ? lines : ['no checkpoints'],
          );
          return EXIT.ok;
        }),
      ),
    );
}
