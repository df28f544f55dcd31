import type { VNode } from 'preact';
import { Field, NewPasswordField, RevokeTokensChoice } from '../layout/index.js';
import { type AccountPageProps, Confirmation, FoldedForm, formAt } from './account-form.js';

export function PasswordChange(props: AccountPageProps): VNode {
  const form = formAt(props, '/account/password');
  const { faults = {}, entered } = form.failed ?? {};
  return (
    <>
      <p class="hint">Changing it signs you out everywhere except in this browser.</p>
      <FoldedForm {...form} summary="Change password">
        <Field
          id="current-password"
          name="current_password"
          label="Current password"
          type="password"
          autocomplete="current-password"
          fault={faults.current_password}
        />
        <NewPasswordField
          id="new-password"
          name="new_password"
          label="New password"
          fault={faults.new_password}
        />
        <RevokeTokensChoice isChosen={entered?.get('revoke_tokens') !== undefined} />
        <button type="submit">Change password</button>
      </FoldedForm>
    </>
  );
}

/** Shown for an account that is linked to the provider. */
export function LinkToProvider(props: AccountPageProps): VNode {
  const { overview } = props;
  const name = props.singleSignOn?.name ?? 'single sign-on';
  const form = formAt(props, '/account/single-sign-on/disconnect');
  return (
    <>
      <p class="hint">
        You can sign in through <span class="name">{name}</span>.
      </p>
      {overview.link.hasAnotherWay ? (
        <FoldedForm {...form} summary="Disconnect" label={`Disconnect ${name}`}>
          <p class="hint">
            Ends all other sessions; you sign in with your password or a passkey from then on. Whoever signs
            in at {name} with your address connects it again.
          </p>
          <Confirmation {...form} id="unlinking-password" hasFactor={overview.codesLeft !== null} />
          <button type="submit" class="danger">
            Disconnect {name}
          </button>
        </FoldedForm>
      ) : (
        <p class="hint">
          It is your only way to sign in, so it cannot be disconnected.
          {props.hasPasswords && ' Add a passkey first.'}
        </p>
      )}
    </>
  );
}
