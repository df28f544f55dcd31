import type { INestApplicationContext } from '@nestjs/common';
import { type Command, InvalidArgumentError } from 'commander';
import { type AuditEvent, AuditLog } from '../../../domain/auth/audit/index.js';
import { Users } from '../../../domain/auth/index.js';
import { accountOf, knownEmail, type Report, rowCount, type Run, withService } from '../with-service.js';

const EVENTS = 100;

interface AuditOptions {
  readonly user?: string;
  readonly before?: number;
  readonly limit: number;
}

export function addAudit(program: Command, run: Run): void {
  program
    .command('audit')
    .option('--user <email>', 'only what was done to this account', knownEmail)
    .option('--before <id>', 'only events older than this one', eventId)
    .option('--limit <number>', 'how many, 9999 at most', rowCount, EVENTS)
    .description('what was done to accounts and to the service, newest first')
    .action((options: AuditOptions) => run(() => listEvents(options)));
}

function eventId(text: string): number {
  const id = Number(text);
  if (/^\d{1,15}$/.test(text)) return id;
  throw new InvalidArgumentError('It must be the id of an event.');
}

/** A page of the audit log. `next` is the `--before` value for the next page, or null. @throws NotFound */
function listEvents({ user, before, limit }: AuditOptions): Promise<Report> {
  return withService(async (service) => {
    const log = service.get(AuditLog);
    const account = user === undefined ? undefined : await accountOf(service, user);
    const found = account
      ? await log.ofUser(account.id, limit + 1, before)
      : await log.page(limit + 1, before);
    const events = found.slice(0, limit);
    const next = found.length > limit ? (events.at(-1)?.id ?? null) : null;
    const named = await withAddresses(service, events);
    const lines = named.length > 0 ? named.map(lineOf) : ['There is no such event.'];
    if (next !== null) lines.push(`There are more: --before ${next}`);
    return { events: named, next, text: lines.join('\n') };
  });
}

type NamedEvent = AuditEvent & {
  /** The address of the account; null when the account is deleted, and for events of the service. */
  readonly email: string | null;
  readonly actorEmail: string | null;
};

async function withAddresses(
  service: INestApplicationContext,
  events: readonly AuditEvent[],
): Promise<NamedEvent[]> {
  const emails = await service.get(Users).emails(events.flatMap(({ userId, actorId }) => [userId, actorId]));
  const emailOf = (id: string | null): string | null => (id === null ? null : (emails.get(id) ?? null));
  return events.map((event) => ({
    ...event,
    email: emailOf(event.userId),
    actorEmail: emailOf(event.actorId),
  }));
}

function lineOf(event: NamedEvent): string {
  const { at, action, email, userId, actor, actorId, actorEmail, ip, details } = event;
  const who = actorId === null ? actor : `${actor} ${actorEmail ?? actorId}`;
  const more = Object.entries(details).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  const parts = [at.toISOString(), action, email ?? userId ?? '–', `by ${who}`, ip && `from ${ip}`, ...more];
  return parts.filter(Boolean).join('  ');
}
