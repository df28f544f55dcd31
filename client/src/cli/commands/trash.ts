import type { Command } from 'commander';
import type { Run } from '../command.js';
import type { Context } from '../context.js';
import { VaultHistory } from '../../core/index.js';
import { EXIT } from '../exit-codes.js';
import { jsonMoment } from '../history/moments.js';

export function registerTrash(program: Command, run: Run): void {
  program
    .command('trash')
    .description('list deleted files whose versions the service keeps; `restore` brings one back')
    .argument('[folder]', 'a folder that is set up; the current directory unless given')
    .action(
      run((context: Context, argument: string | undefined) =>
        context.withVault(argument, async ({ folder, workspace, keys }) => {
          const files: Trashed[] = [];
          let unreadable = 0;
          for await (const page of new VaultHistory(workspace, keys).trash())
            for (const { path, deletedAt } of page) {
              if (path === undefined) unreadable++;
              else files.push({ path, deletedAt: jsonMoment(deletedAt) });
            }
          files.sort((a, b) => ((a.deletedAt ?? '') < (b.deletedAt ?? '') ? 1 : -1));
          const lines = files.map(({ path, deletedAt }) => `${deletedAt ?? 'unknown time'}  ${path}`);
          if (unreadable > 0) lines.push(`${unreadable} with a name that this vault does not open`);
          if (lines.length === 0) lines.push('the trash is empty');
          context.output.result({ folder: folder.root, files, unreadable }, lines);
          return EXIT.ok;
        }),
      ),
    );
}

interface Trashed {
  readonly path: string;
  readonly deletedAt: string | null;
}
