// Calls to the studio that served this page; the address of the page holds the token.
export async function call(name, data = {}) {
  let answer;
  try {
    answer = await fetch(`api/${name}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(data),
    });
  } catch {
    return { error: "The studio does not answer. Is `metalloid studio` still running?" };
  }
  if (!answer.ok) return { error: (await answer.text()).trim() };
  return answer.json();
}
