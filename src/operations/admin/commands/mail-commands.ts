import type { INestApplicationContext } from '@nestjs/common';
import type { Command } from 'commander';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isEmailAddress } from '../../../domain/auth/index.js';
import {
  Customers,
  type EventType,
  type SampleEvent,
  sampleEvent,
  signatureFor,
  Subscriptions,
} from '../../../domain/billing/index.js';
import { Clock } from '../../../platform/clock.js';
import { Configuration, configurationOfProcess, OperatorError } from '../../../platform/config/index.js';
import { BadRequest, parseJsonObject, ServiceUnavailable } from '../../../platform/http/index.js';
import { SmtpSender, testMessage } from '../../../platform/mail/index.js';
import { onAccount, type Report, type Run } from '../with-service.js';

/** Sends a test mail as the service would. Needs neither the service nor the database. @throws OperatorError without SMTP_URL */
async function testMail(address: string): Promise<Report> {
  if (!isEmailAddress(address)) throw new BadRequest('this is not an email address');
  const configuration = configurationOfProcess();
  if (!configuration.hasMail)
    throw new OperatorError('Set SMTP_URL and MAIL_FROM: no mail server is configured.');
  const message = testMessage(configuration.publicHost);
  const result = await new SmtpSender(configuration).send(address, message, randomUUID());
  if (result.outcome === 'sent')
    return { ...result, text: `The mail server accepted the mail: ${result.response}` };
  const text = `The mail was not sent (${result.code}): ${result.reason}`;
  return { ...result, text, exitCode: 1 };
}

export function addMail(program: Command, run: Run): void {
  program
    .command('mail')
    .description('mail that the service sends')
    .command('test')
    .argument('<address>', 'where to send it')
    .description('send a test mail now, without the queue, and print what the mail server said')
    .action((address: string) => run(() => testMail(address)));
}

const TIMEOUT_MS = 30_000;

/**
 * Posts a payment event to the running service at BASE_URL, as the payment provider would, or reports the event.
 * @param file contains the event, or the object in it, as JSON
 * @throws NotFound for an unknown account, BadRequest when the service refuses, ServiceUnavailable when none responds
 */
export function sendWebhook(
  type: EventType,
  address: string,
  file: string | undefined,
  dryRun?: true,
): Promise<Report> {
  return onAccount(address, async (service, { id, email }) => {
    const now = service.get(Clock).now();
    const event = await eventAbout(service, id, type, file, now);
    if (dryRun) {
      const url = addressIn(service);
      const text = `Would be posted to ${url}:\n${JSON.stringify(event, null, 2)}`;
      return { dryRun, type, email, url, event, text };
    }
    await post(service, event, now);
    const { status } = await service.get(Subscriptions).of(id);
    return {
      event: event.id,
      type,
      email,
      status,
      text: `Sent ${type} (${event.id}): ${email} is ${status}`,
    };
  });
}

async function eventAbout(
  service: INestApplicationContext,
  userId: string,
  type: EventType,
  file: string | undefined,
  now: Date,
): Promise<SampleEvent> {
  const object = file === undefined ? undefined : await readObject(file);
  const { subscriptionId } = await service.get(Subscriptions).describe(userId);
  const customerId = (await service.get(Customers).find(userId)) ?? null;
  return sampleEvent(type, { userId, customerId, subscriptionId }, now, object);
}

async function readObject(file: string): Promise<Record<string, unknown>> {
  try {
    return parseJsonObject(await readFile(file));
  } catch (error) {
    throw new BadRequest(`${file} cannot be used: ${(error as Error).message}`);
  }
}

async function post(service: INestApplicationContext, event: SampleEvent, now: Date): Promise<void> {
  const { publicUrl, paymentWebhookSecrets } = service.get(Configuration);
  const body = JSON.stringify(event);
  const [secret] = paymentWebhookSecrets;
  const headers = {
    'content-type': 'application/json',
    ...(secret === undefined ? {} : { 'payment-signature': signatureFor(body, secret, now) }),
  };
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const answer = await fetch(addressIn(service), { method: 'POST', headers, body, signal }).catch(
    () => undefined,
  );
  if (!answer)
    throw new ServiceUnavailable(`no service responds at ${publicUrl}; start it, or set BASE_URL or PORT`);
  if (!answer.ok)
    throw new BadRequest(
      `the service responded with ${answer.status}: ${(await answer.text()).slice(0, 300)}`,
    );
}

function addressIn(service: INestApplicationContext): string {
  return `${service.get(Configuration).publicUrl}/api/v1/webhooks/payment`;
}
