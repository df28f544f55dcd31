for (const element of document.querySelectorAll('[data-without-script]')) element.hidden = true;

/** In browsers without passkeys, or without a secure context, everything for passkeys stays hidden. */
if (window.PublicKeyCredential) {
  for (const element of document.querySelectorAll('[data-passkey], [data-passkey-add]'))
    element.hidden = false;
  for (const element of document.querySelectorAll('[data-without-passkeys]')) element.hidden = true;
}

for (const button of document.querySelectorAll('[data-passkey-sign-in]')) {
  button.addEventListener('click', () => tell(button.parentElement, button, signInWithPasskey));
}

for (const form of document.querySelectorAll('[data-passkey-add]')) {
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void tell(form, form.querySelector('button'), () => addPasskey(form));
  });
}

/** Runs the work of a button, and shows in `place` why it failed. */
async function tell(place, button, work) {
  const fault = place.querySelector('[data-passkey-fault]');
  fault.hidden = true;
  button.disabled = true;
  try {
    await work(button);
  } catch (error) {
    fault.textContent = error.isForPeople ? error.message : 'The passkey was not used. Try again.';
    fault.hidden = false;
  } finally {
    button.disabled = false;
  }
}

async function signInWithPasskey(button) {
  const options = await askPasskeys('generate-authenticate-options');
  // The browser offers every passkey of this site: the user may choose another account than the one that is signed in.
  const credential = await navigator.credentials.get({
    publicKey: { ...options, challenge: bytesOf(options.challenge), allowCredentials: [] },
  });
  const { authenticatorData, clientDataJSON, signature, userHandle } = credential.response;
  const response = { authenticatorData, clientDataJSON, signature, ...(userHandle ? { userHandle } : {}) };
  await askPasskeys('verify-authentication', { response: wireOf(credential, response) });
  location.assign(button.dataset.passkeySignIn);
}

async function addPasskey(form) {
  const options = await askPasskeys('generate-register-options');
  const { challenge, user, excludeCredentials = [] } = options;
  const credential = await navigator.credentials.create({
    publicKey: {
      ...options,
      challenge: bytesOf(challenge),
      user: { ...user, id: bytesOf(user.id) },
      excludeCredentials: excludeCredentials.map((one) => ({ ...one, id: bytesOf(one.id) })),
    },
  });
  const { attestationObject, clientDataJSON } = credential.response;
  const wire = wireOf(credential, { attestationObject, clientDataJSON });
  wire.response.transports = credential.response.getTransports?.() ?? [];
  await askPasskeys('verify-registration', { response: wire, name: form.elements.name.value });
  location.assign(form.dataset.passkeyAdd);
}

const FAULTS = {
  401: 'This passkey is not known here. It may have been removed.',
  403: 'Sign in again, then try again within ten minutes.',
  429: 'Too many tries. Wait a minute, then try again.',
};

async function askPasskeys(action, body) {
  const post = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
  const answer = await fetch(`/api/auth/passkey/${action}`, body ? post : {});
  if (answer.ok) return answer.json();
  throw Object.assign(new Error(FAULTS[answer.status] ?? 'The passkey was refused. Try again.'), {
    isForPeople: true,
  });
}

/** A credential as JSON, its buffers in base64url. */
function wireOf({ id, type }, response) {
  const texts = Object.entries(response).map(([name, buffer]) => [name, textOf(buffer)]);
  return { id, rawId: id, type, clientExtensionResults: {}, response: Object.fromEntries(texts) };
}

function textOf(buffer) {
  const binary = String.fromCharCode(...new Uint8Array(buffer));
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

function bytesOf(text) {
  return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (one) => one.charCodeAt(0));
}
