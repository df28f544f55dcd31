/** The account cannot be signed in to with email and password alone. */
export class SecondFactorRequired extends Error {
  override readonly name = 'SecondFactorRequired';

  constructor(email: string) {
    super(
      `${email} has a second factor: sign in on the page of the service (the handoff), or use a personal access token`,
    );
  }
}
