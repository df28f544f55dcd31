import type { INestApplicationContext } from '@nestjs/common';
import { readFile } from 'node:fs/promises';
import { Users } from '../auth/index.js';
import {
  Customers,
  type EventType,
  type SampleEvent,
  sampleEvent,
  signatureFor,
  Subscriptions,
} from '../billing/index.js';
import { Configuration } from '../config/index.js';
import { Clock } from '../platform/clock/index.js';
import { BadRequest, NotFound, parseJsonObject, ServiceUnavailable } from '../platform/http/index.js';
import type { Report } from './report.js';
import { withService } from './with-service.js';

const TIMEOUT_MS = 30_000;

/**
 * Tells the running service, at BASE_URL, of a payment event, as the payment provider would.
 * @param file holds the event, or the object in it, as JSON
 * @throws NotFound for an unknown account, BadRequest when the service refuses, ServiceUnavailable when none answers
 */
export function sendWebhook(type: EventType, email: string, file: string | undefined): Promise<Report> {
  return withService(async (service) => {
    const object = file === undefined ? undefined : await readObject(file);
    const user = await service.get(Users).findByEmail(email);
    if (!user) throw new NotFound(`there is no account ${email}`);
    const { subscriptionId } = await service.get(Subscriptions).describe(user.id);
    const customerId = (await service.get(Customers).find(user.id)) ?? null;
    const now = service.get(Clock).now();
    const event = sampleEvent(type, { userId: user.id, customerId, subscriptionId }, now, object);
    await post(service, event, now);
    const { status } = await service.get(Subscriptions).of(user.id);
    const fields = { event: event.id, type, email: user.email, status };
    return { ...fields, text: `Sent ${type} (${event.id}): ${user.email} is ${status}` };
  });
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
  const answer = await fetch(`${publicUrl}/api/v1/webhooks/payment`, {
    method: 'POST',
    headers,
    body,
    signal,
  }).catch(() => undefined);
  if (!answer)
    throw new ServiceUnavailable(`no service answers at ${publicUrl}; start it, or set BASE_URL or PORT`);
  if (!answer.ok)
    throw new BadRequest(`the service answers ${answer.status}: ${(await answer.text()).slice(0, 300)}`);
}
