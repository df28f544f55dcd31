import type { VNode } from 'preact';
import type { AuditEvent } from '../../domain/auth/audit/index.js';
import { auditSentence, clientName, Layout, Masthead, Time } from '../layout/index.js';

/** How many events a page lists. */
export const EVENTS_OF_PAGE = 50;

/** Events, newest first. */
export interface ActivityPage {
  readonly events: readonly AuditEvent[];
  /** Whether there are older events. */
  readonly hasMore: boolean;
}

/** The part of the account page that says what was done to the account. */
export function ActivitySection({ activity }: { readonly activity: ActivityPage }): VNode {
  return (
    <section aria-labelledby="activity">
      <h2 id="activity">Activity</h2>
      <p class="hint">What was done to your account. Something you do not know? Change your password.</p>
      <details>
        <summary>Show what was done</summary>
        <Events activity={activity} />
      </details>
    </section>
  );
}

export function activityPage({ host, activity }: { host: string; activity: ActivityPage }): VNode {
  return (
    <Layout title="Activity" isWide>
      <Masthead host={host} />
      <h1>Activity</h1>
      <p>
        <a href="/account">Back to the account</a>
      </p>
      <Events activity={activity} />
    </Layout>
  );
}

function Events({ activity: { events, hasMore } }: { readonly activity: ActivityPage }): VNode {
  const oldest = events.at(-1);
  return (
    <>
      {events.length === 0 && <p class="hint">Nothing was recorded.</p>}
      <ul class="things">
        {events.map((event) => (
          <li key={event.id}>
            <div>
              <p>{auditSentence(event)}</p>
              <p class="hint">
                <Time at={event.at} /> {whoIn(event)}
              </p>
            </div>
          </li>
        ))}
      </ul>
      {hasMore && oldest && (
        <p>
          <a href={`/account/activity?before=${oldest.id}`}>Older activity</a>
        </p>
      )}
    </>
  );
}

const OTHERS: Readonly<Record<Exclude<AuditEvent['actor'], 'user'>, string>> = {
  operator: 'by the operator of this service',
  administrator: 'by an administrator of this service',
  service: 'by the service',
};

/** The address and the client of an administrator are not the user's to see. */
function whoIn({ actor, ip, userAgent }: AuditEvent): string {
  if (actor !== 'user') return OTHERS[actor];
  return [userAgent && `with ${clientName(userAgent)}`, ip && `from ${ip}`].filter(Boolean).join(' ');
}
