import type { VNode } from 'preact';
import { MOST_LISTED } from '../../domain/auth/index.js';
import { clientName, Time } from '../layout/index.js';
import { MOST_DEVICES } from './account-overview.js';
import { type AccountPageProps, ActionButton, Truncated } from './account-form.js';

/** A new session is updated shortly after its creation; a longer difference means that it was used. */
const A_MOMENT_MS = 60_000;

export function SignOutButton({ overview, csrfToken }: AccountPageProps): VNode | null {
  if (overview.sessions.length < 2) return null;
  const action = '/account/sessions/end-others';
  return <ActionButton {...{ action, csrfToken }} text="Sign out everywhere else" />;
}

export function Sessions({ overview, csrfToken, session }: AccountPageProps): VNode {
  const { sessions } = overview;
  const { id: currentId } = session;
  return (
    <>
      <Truncated shown={sessions.length} most={MOST_LISTED} />
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
              <ActionButton
                action="/account/sessions/end"
                {...{ csrfToken, id }}
                text="Sign out"
                label={`Sign out ${clientName(userAgent)}`}
              />
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

export function DeviceList({ overview, csrfToken }: AccountPageProps): VNode {
  const { devices } = overview;
  return (
    <>
      <p class="hint">A removed device gets no more pushes. It registers again when its app syncs.</p>
      {devices.length === 0 && <p class="hint">No device is registered.</p>}
      <Truncated shown={devices.length} most={MOST_DEVICES} />
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
            <ActionButton
              action="/account/devices/remove"
              {...{ csrfToken, id }}
              text="Remove"
              label={`Remove ${name}`}
            />
          </li>
        ))}
      </ul>
    </>
  );
}
