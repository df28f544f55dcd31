import type { VNode } from 'preact';
import { type ListedPasskey, MAX_PASSKEYS } from '../../domain/auth/index.js';
import { ConfirmField, Field, PasskeyScript, Time } from '../layout/index.js';
import { type AccountPageProps, ActionButton, FoldedForm, formAt } from './account-form.js';

/** Adding a passkey needs the script, which shows the form for it. */
export function PasskeyList(props: AccountPageProps): VNode {
  const { overview, csrfToken, needsConfirmation } = props;
  const { passkeys } = overview;
  return (
    <>
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
              <ActionButton
                action="/account/passkeys/remove"
                csrfToken={csrfToken}
                id={passkey.id}
                text="Remove"
                label={`Remove passkey ${passkey.name}`}
              />
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
    </>
  );
}

interface RenameProps {
  readonly passkey: ListedPasskey;
  readonly csrfToken: string;
}

function Rename({ passkey: { id, name }, csrfToken }: RenameProps): VNode {
  const action = '/account/passkeys/rename';
  return (
    <FoldedForm {...{ action, csrfToken }} fields={{ id }} summary="Rename" of={`passkey ${name}`}>
      <Field id={`passkey-${id}`} name="name" label="Name" value={name} />
      <button type="submit">Rename</button>
    </FoldedForm>
  );
}

function Confirm(props: AccountPageProps): VNode {
  const form = formAt(props, '/account/passkeys/confirm');
  const failed = form.failed ?? formAt(props, '/account/passkeys/remove').failed;
  const label = 'Confirm that it is you';
  return (
    <FoldedForm {...form} {...{ label, failed }} summary="Add or remove a passkey">
      <ConfirmField
        id="passkeys-password"
        hasFactor={props.overview.codesLeft !== null}
        fault={failed?.faults.confirm_password}
      />
      <button type="submit">{label}</button>
    </FoldedForm>
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
          hint="What you will know it by, such as the name of the device."
        />
        <p class="fault" role="alert" data-passkey-fault hidden />
        <button type="submit">Add the passkey</button>
      </form>
      <PasskeyScript />
    </details>
  );
}
