import type { VNode } from 'preact';
import { MAX_PASSKEYS } from '../../domain/auth/index.js';
import { ConfirmField, Field, Hidden, PasskeyScript, Time } from '../layout/index.js';
import type { Overview } from './account-overview.js';
import { ActionForm, type FlashMessages } from './action-form.js';

interface PasskeysProps extends FlashMessages {
  readonly overview: Overview;
  readonly csrfToken: string;
  readonly needsConfirmation: boolean;
}

/** The section for passkeys. Adding one needs the script, which shows the form for it. */
export function PasskeysSection(props: PasskeysProps): VNode {
  const { overview, csrfToken, needsConfirmation } = props;
  const { passkeys } = overview;
  return (
    <section aria-labelledby="passkeys">
      <h2 id="passkeys">Passkeys</h2>
      <p class="hint">
        A passkey signs you in with the fingerprint, face or PIN of your device, or with a security key, in
        place of the password and the code.
      </p>
      <ul class="things">
        {passkeys.map((passkey) => (
          <li key={passkey.id}>
            <div>
              <p>
                {passkey.name} {passkey.isSynced && <span class="badge">synced</span>}
              </p>
              <p class="hint">
                Added <Time at={passkey.createdAt} />
              </p>
              <Rename {...{ passkey, csrfToken }} />
            </div>
            {!needsConfirmation && (
              <ActionForm action="/account/passkeys/remove" csrfToken={csrfToken} id={passkey.id}>
                <button type="submit" class="quiet" aria-label={`Remove passkey ${passkey.name}`}>
                  Remove
                </button>
              </ActionForm>
            )}
          </li>
        ))}
      </ul>
      {needsConfirmation ? (
        <Confirm {...props} />
      ) : passkeys.length < MAX_PASSKEYS ? (
        <AddPasskey />
      ) : (
        <p class="hint">There are as many passkeys as an account may have. Remove one to add another.</p>
      )}
    </section>
  );
}

interface RenameProps {
  readonly passkey: Overview['passkeys'][number];
  readonly csrfToken: string;
}

function Rename({ passkey: { id, name }, csrfToken }: RenameProps): VNode {
  return (
    <details>
      <summary aria-label={`Rename passkey ${name}`}>Rename</summary>
      <form method="post" action="/account/passkeys/rename" aria-label={`Rename passkey ${name}`}>
        <Hidden fields={{ csrf_token: csrfToken, id }} />
        <Field id={`passkey-${id}`} name="name" label="Name" type="text" autocomplete="off" value={name} />
        <button type="submit">Rename</button>
      </form>
    </details>
  );
}

function Confirm({ csrfToken, overview, failedConfirmation }: PasskeysProps): VNode {
  return (
    <details open={failedConfirmation !== undefined}>
      <summary>Add or remove a passkey</summary>
      <form method="post" action="/account/passkeys/confirm" aria-label="Confirm that it is you">
        <Hidden fields={{ csrf_token: csrfToken }} />
        <ConfirmField
          id="passkeys-password"
          hasFactor={overview.codesLeft !== null}
          fault={failedConfirmation?.fault}
        />
        <button type="submit">Confirm that it is you</button>
      </form>
    </details>
  );
}

function AddPasskey(): VNode {
  return (
    <details>
      <summary>Add a passkey</summary>
      <p class="hint" data-without-passkeys>
        Adding a passkey needs JavaScript and HTTPS.
      </p>
      <form data-passkey-add="/account" aria-label="Add a passkey" hidden>
        <Field
          id="passkey-name"
          name="name"
          label="Name"
          type="text"
          autocomplete="off"
          hint="What you will know it by, such as the name of the device."
        />
        <p class="fault" role="alert" data-passkey-fault hidden />
        <button type="submit">Add the passkey</button>
      </form>
      <PasskeyScript />
    </details>
  );
}
