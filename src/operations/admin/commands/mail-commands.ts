import type { Command } from 'commander';
import { isEmailAddress } from '../../../domain/auth/index.js';
import { BadRequest } from '../../../platform/http/index.js';
import { testMail } from '../send-mail.js';
import type { Run } from '../report.js';

/** `mail test`. */
export function addMail(program: Command, run: Run): void {
  program
    .command('mail')
    .description('mail that the service sends')
    .command('test')
    .argument('<address>', 'where to send it')
    .description('send a test mail now, without the queue, and print what the mail server said')
    .action((address: string) =>
      run(() => {
        if (!isEmailAddress(address)) throw new BadRequest('this is not an email address');
        return testMail(address);
      }),
    );
}
