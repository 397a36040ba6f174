"""What runs write and pages read: dataclasses, each with one way into JSON and one way back."""
