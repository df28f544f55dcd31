import type { Command } from 'commander';
import { type RecoveryDraft, RecoveryKeyTypo, WrongSecret } from '../../core/index.js';
import type { Run } from '../command.js';
import type { Context } from '../context.js';
import { sentenceOf } from '../errors.js';
import { EXIT } from '../exit-codes.js';

const ATTEMPTS = 5;

export function registerRecovery(program: Command, run: Run): void {
  program
    .command('recovery')
    .description('make a recovery key: it opens the vault when its password is forgotten')
    .argument('[folder]', 'a folder that is set up; the current directory unless given')
    .action(
      run((context: Context, argument: string | undefined) =>
        context.withVault(argument, async ({ folder, vault }) => {
          const { output, options } = context;
          if (options.dryRun === true) {
            output.result({ folder: folder.root }, ['would make a recovery key']);
            return EXIT.ok;
          }
          const draft = await (await vault()).draftRecoveryKey();
          if (output.isJson) {
            // With `--json` a program stores the key: there is nothing to check for typing errors.
            await draft.confirm(draft.text);
            output.result({ folder: folder.root, recoveryKey: draft.text }, []);
            return EXIT.ok;
          }
          output.text(draft.text);
          output.note('Write this recovery key down. It is not shown again, and it opens the vault alone.');
          await confirmed(context, draft);
          output.note('The recovery key counts now.');
          return EXIT.ok;
        }),
      ),
    );
}

/** A key counts only after the user has typed it correctly: a wrong copy is worse than no key. */
async function confirmed({ prompt, output }: Context, draft: RecoveryDraft): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await draft.confirm(await prompt.line('Type it to confirm (it does not count before): '));
      return;
    } catch (error) {
      const isTypo = error instanceof RecoveryKeyTypo || error instanceof WrongSecret;
      if (!isTypo || attempt === ATTEMPTS) throw error;
      output.note(sentenceOf(error));
    }
  }
}
