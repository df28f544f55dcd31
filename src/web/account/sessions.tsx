import type { VNode } from 'preact';
import { MOST_LISTED } from '../../domain/auth/index.js';
import { clientName, Time } from '../layout/index.js';
import { MOST_DEVICES } from './account-overview.js';
import type { AccountPageProps } from './account-page-props.js';
import { ActionForm } from './action-form.js';

/** A new session is updated shortly after its creation; a longer difference means that it was used. */
const A_MOMENT_MS = 60_000;

export function SessionsSection({ overview, csrfToken, session }: AccountPageProps): VNode {
  const { sessions } = overview;
  const { id: currentId } = session;
  return (
    <section aria-labelledby="sessions">
      <div class="heading">
        <h2 id="sessions">Sessions</h2>
        {sessions.length > 1 && (
          <ActionForm action="/account/sessions/end-others" csrfToken={csrfToken}>
            <button type="submit" class="quiet">
              Sign out everywhere else
            </button>
          </ActionForm>
        )}
      </div>
      {sessions.length === MOST_LISTED && (
        <p class="hint">Showing the newest {MOST_LISTED}. There may be more.</p>
      )}
      <ul class="things">
        {sessions.map(({ id, userAgent, ip, createdAt, updatedAt }) => (
          <li key={id}>
            <div>
              <p>
                {clientName(userAgent)} {id === currentId && <span class="badge">This browser</span>}
              </p>
              <p class="hint">
                Since <Time at={createdAt} />
                {updatedAt.getTime() > createdAt.getTime() + A_MOMENT_MS && (
                  <>
                    , active <Time at={updatedAt} />
                  </>
                )}
                {ip && `, ${ip}`}
              </p>
            </div>
            {id !== currentId && (
              <ActionForm action="/account/sessions/end" {...{ csrfToken, id }}>
                <button type="submit" class="quiet" aria-label={`Sign out ${clientName(userAgent)}`}>
                  Sign out
                </button>
              </ActionForm>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

export function DevicesSection({ overview, csrfToken }: AccountPageProps): VNode {
  const { devices } = overview;
  return (
    <section aria-labelledby="devices">
      <h2 id="devices">Devices</h2>
      <p class="hint">A removed device gets no more pushes. It registers again when its app syncs.</p>
      {devices.length === 0 && <p class="hint">No device is registered.</p>}
      {devices.length === MOST_DEVICES && (
        <p class="hint">Showing the newest {MOST_DEVICES}. There may be more.</p>
      )}
      <ul class="things">
        {devices.map(({ id, name, platform, lastSeenAt, createdAt }) => (
          <li key={id}>
            <div>
              <p>
                {name} <span class="badge">{platform}</span>
              </p>
              <p class="hint">
                {lastSeenAt ? 'Last seen ' : 'Registered '}
                <Time at={lastSeenAt ?? createdAt} />
              </p>
            </div>
            <ActionForm action="/account/devices/remove" {...{ csrfToken, id }}>
              <button type="submit" class="quiet" aria-label={`Remove ${name}`}>
                Remove
              </button>
            </ActionForm>
          </li>
        ))}
      </ul>
    </section>
  );
}
