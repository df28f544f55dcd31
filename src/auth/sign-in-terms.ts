/** What the identity handler is told, and what pages and documents say of it. */
export const ONE_TIME_TOKEN_MINUTES = 3;
export const JWT_MINUTES = 15;
export const PASSWORD_LENGTH = { min: 10, max: 128 } as const;
