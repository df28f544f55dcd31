import { Get, Req, Res } from '@nestjs/common';
import { isUUID } from 'class-validator';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { type AuditEvent, AuditLog } from '../../domain/auth/audit/index.js';
import { Users } from '../../domain/auth/index.js';
import { auditSentence, clientName, positionIn, Time } from '../layout/index.js';
import { AdminDoor, AdminPages, SHOWN } from './admin-door.js';
import { SearchForm } from './admin-layout.js';

interface AuditProps {
  readonly events: readonly AuditEvent[];
  /** The addresses of existing accounts, by id. */
  readonly emails: ReadonlyMap<string, string>;
  /** The filter. */
  readonly user: string;
  readonly hasMore: boolean;
}

export function auditView({ events, emails, user, hasMore }: AuditProps): VNode {
  const oldest = events.at(-1);
  const older = new URLSearchParams({ ...(user ? { user } : {}), before: String(oldest?.id ?? '') });
  return (
    <>
      <SearchForm
        action="/admin/audit"
        name="user"
        label="Address or id of an account"
        value={user}
        verb="Filter"
      />
      {events.length === 0 && <p class="hint">There is no such event.</p>}
      <ul class="things">
        {events.map((event) => (
          <li key={event.id}>
            <div>
              <p>
                {auditSentence(event)} <span class="badge">{event.action}</span>
              </p>
              <p class="hint">
                <Time at={event.at} />
                {event.userId && `, account ${emails.get(event.userId) ?? `${event.userId} (deleted)`}`}, by{' '}
                {whoIn(event, emails)}
                {event.ip && `, from ${event.ip}`}
                {event.userAgent && `, with ${clientName(event.userAgent)}`}
              </p>
            </div>
          </li>
        ))}
      </ul>
      {hasMore && (
        <p>
          <a href={`/admin/audit?${older.toString()}`}>Older events</a>
        </p>
      )}
    </>
  );
}

function whoIn({ actor, actorId }: AuditEvent, emails: ReadonlyMap<string, string>): string {
  if (actor === 'user') return 'its user';
  if (actorId === null) return `the ${actor}`;
  return `${actor} ${emails.get(actorId) ?? actorId}`;
}

const EVENTS_OF_PAGE = 100;

@AdminPages('admin/audit', {
  show: {
    summary: 'Show the audit log, for administrators',
    query: {
      user: { description: 'The address or the id of an account.' },
      before: { description: 'The id of an event: only older ones.' },
    },
    answers: { ...SHOWN, 400: 'before is not the id of an event' },
  },
})
export class AuditController {
  constructor(
    private readonly door: AdminDoor,
    private readonly audit: AuditLog,
    private readonly users: Users,
  ) {}

  @Get()
  async show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.door.show(request, reply, async ({ query }) => {
      const user = query.text('user');
      const found = await this.events(user, positionIn(query));
      const events = found.slice(0, EVENTS_OF_PAGE);
      const emails = await this.users.emails(events.flatMap(({ userId, actorId }) => [userId, actorId]));
      return {
        title: 'Audit log',
        section: 'Audit',
        content: auditView({ events, emails, user, hasMore: found.length > events.length }),
      };
    });
  }

  /** @param user an address, or the id of an account that may be deleted; empty for all */
  private async events(user: string, before: number | undefined): Promise<AuditEvent[]> {
    if (user === '') return this.audit.page(EVENTS_OF_PAGE + 1, before);
    const id = isUUID(user) ? user : (await this.users.findByEmail(user))?.id;
    return id === undefined ? [] : this.audit.ofUser(id, EVENTS_OF_PAGE + 1, before);
  }
}
