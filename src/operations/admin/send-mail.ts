import { randomUUID } from 'node:crypto';
import { type Configuration, configurationOfProcess, OperatorError } from '../../platform/config/index.js';
import { SmtpSender, testMessage } from '../../platform/mail/index.js';
import type { Report } from './report.js';

/**
 * Sends a test mail as the service would. Needs neither the service nor the database. @throws OperatorError without SMTP_URL
 */
export async function testMail(
  address: string,
  configuration: Configuration = configurationOfProcess(),
): Promise<Report> {
  if (!configuration.hasMail)
    throw new OperatorError('Set SMTP_URL and MAIL_FROM: no mail server is configured.');
  const message = testMessage(configuration.publicHost);
  const result = await new SmtpSender(configuration).send(address, message, randomUUID());
  if (result.outcome === 'sent')
    return { ...result, text: `The mail server accepted the mail: ${result.response}` };
  const text = `The mail was not sent (${result.code}): ${result.reason}`;
  return { ...result, text, exitCode: 1 };
}
