/** Whether a request asks how the service is: it is answered whatever is refused else. */
export const isHealth = (url: string): boolean => /^\/health(?:\/|\?|$)/.test(url);
