import type { VNode } from 'preact';
import type { AuditEvent } from '../../domain/auth/audit/index.js';
import { auditSentence, clientName, Time } from '../layout/index.js';
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
